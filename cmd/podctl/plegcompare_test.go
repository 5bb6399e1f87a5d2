package main

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/cmd/podctl/internal/pleg"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/cri/sim"
)

const compareHeader = "TIME POD EVENT CONTAINER FIRST BY EVENTS RELISTS"

// compare starts `podctl pleg compare`, half a second after its second relist.
func (w *world) compare(flags ...string) *command {
	c := w.start(nil, append([]string{"pleg", "compare"}, flags...)...)
	time.Sleep(1500 * time.Millisecond)
	synctest.Wait()
	return c
}

func TestCompareShowsWhoWasFirstAndWhatWasMissed(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.pod("default", "old").Start("old", "sleep", "3600")
		time.Sleep(6 * time.Minute) // the simulated runtime forgets old events
		c := w.compare("--for=30s")
		c.lines(compareHeader)
		p := w.pod("default", "job")
		id := p.Start("job", "sh", "-c", "sleep 0.2; exit 3")
		time.Sleep(time.Second)
		synctest.Wait()
		c.lines("default/job ContainerDied job events 300ms 0ms 300ms",
			"default/job ContainerStarted (sandbox) events 500ms 0ms 500ms")
		time.Sleep(5 * time.Second)
		c.lines("default/job ContainerStarted job events 0ms missed")
		heal := w.sim.Inject("method=GetContainerEvents drop")
		if _, err := w.sim.RemoveContainer(t.Context(), &runtimeapi.RemoveContainerRequest{ContainerId: id}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(7 * time.Second)
		c.lines("default/job ContainerRemoved job relists missed")
		heal()
		c.ends(shell.ExitOK, time.Minute)
		c.lines("4 transitions in 30s · events first 2 times, by p50 300ms, p95 500ms, max 500ms",
			"events missed 1 · relists missed 1, 1 never seen running",
			"lag, where the runtime reports the time: events p50 0ms, p95 0ms · relists p50 300ms, p95 500ms")
		c.silent()
	})
}

func TestCompareInJSON(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.compare("-o=json", "--for=0", "--pod=web")
		w.pod("default", "web")
		w.pod("default", "other")
		time.Sleep(time.Hour)
		c.goesOn()
		c.interrupt()
		c.ends(shell.ExitOK, time.Second)
		c.silent()
		var lines []pleg.CompareLine
		for text := range strings.Lines(c.out.String()) {
			var l pleg.CompareLine
			if err := json.Unmarshal([]byte(text), &l); err != nil {
				t.Fatal(err, text)
			}
			lines = append(lines, l)
		}
		if len(lines) != 2 {
			t.Fatalf("%+v", lines)
		}
		l, s := lines[0], lines[1].Summary
		if l.Type != "transition" || l.Name != "web" || l.Event != "ContainerStarted" || l.Container != "" || l.ID == "" ||
			l.AheadSeconds == nil || *l.AheadSeconds != 0.5 || l.Relist.Sub(*l.Hint) != 500*time.Millisecond || l.Hint.Sub(*l.Happened) > time.Millisecond ||
			l.MissedByHints || l.MissedByRelist {
			t.Errorf("%+v", l)
		}
		if lines[1].Type != "summary" || s == nil || s.Transitions != 1 || s.HintsFirst != 1 || s.AheadMax != 0.5 {
			t.Errorf("%+v", lines[1])
		}
	})
}

// TestCompareNeverTakesEventsFromAKubelet: on containerd before 2.0 it does
// not subscribe.
func TestCompareNeverTakesEventsFromAKubelet(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		recorded := sim.New(sim.Options{Record: true})
		recorded.SetVersion("containerd", "1.7.35")
		w.sim.Close()
		w.sim = recorded
		c := w.start(nil, "pleg", "compare")
		c.ends(shell.ExitFailed, time.Second)
		want := "podctl: pleg compare: nothing to compare relists with: containerd 1.7.35 delivers each event to one subscriber only: " +
			"podctl would take events from the kubelet\n  hint: podctl pleg watch works with this runtime, by relists\n"
		if c.errw.String() != want || c.out.String() != "" {
			t.Errorf("stderr %q\nstdout %q", c.errw.String(), c.out.String())
		}
		if calls := recorded.Calls("GetContainerEvents"); len(calls) > 0 {
			t.Errorf("subscribed: %v", calls)
		}
	})
}

func TestCompareNeedsEvents(t *testing.T) {
	for mode, want := range map[sim.EventMode]string{
		sim.EventsUnimplemented: "not implemented",
		sim.EventsEOF:           "hint: CRI-O: set enable_pod_events = true in crio.conf\n",
	} {
		inWorld(t, func(t *testing.T, w *world) {
			w.sim.SetEvents(mode)
			c := w.start(nil, "pleg", "compare")
			c.ends(shell.ExitFailed, 2*time.Second)
			if said := c.errw.String(); !strings.HasPrefix(said, "podctl: pleg compare: nothing to compare relists with: ") ||
				!strings.Contains(said, want) || !strings.HasSuffix(said, "hint: podctl pleg watch works with this runtime, by relists\n") {
				t.Errorf("stderr %q", said)
			}
		})
	}
}
