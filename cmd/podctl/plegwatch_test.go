package main

import (
	"encoding/json"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/podctl/podctl/cmd/podctl/internal/pleg"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/lab/sim"
)

func TestWatchShowsAWholeLife(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.watch()
		c.lines(watchHeader)
		p := w.pod("default", "job")
		synctest.Wait()
		c.lines("default/job ContainerStarted (sandbox) 10.88.0.2 hint 0ms")
		p.Start("job", "sh", "-c", "sleep 2; exit 3")
		synctest.Wait()
		c.lines("default/job ContainerStarted job hint 0ms")
		time.Sleep(3 * time.Second)
		c.lines("default/job ContainerDied job exit 3 hint 0ms")
		p.Remove()
		synctest.Wait()
		c.lines(
			"default/job ContainerRemoved job hint",
			"default/job ContainerDied (sandbox) vanished hint",
			"default/job ContainerRemoved (sandbox) hint",
		)
		c.stopped("6 events in 3s: 2 ContainerStarted, 2 ContainerDied, 2 ContainerRemoved · 3 full relists, max 0ms" +
			" · lag max 0ms · every change had a hint")
	})
}

func TestWatchPrintsWhatIsThereFirstOnlyIfAsked(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.pod("default", "web").Start("web", "sleep", "3600")
		time.Sleep(time.Minute)
		c := w.watch()
		c.lines(watchHeader)
		c.stopped("0 events in 0s · 1 full relist, max 0ms")

		c = w.watch("--initial")
		c.lines(watchHeader,
			"default/web ContainerStarted web initial",
			"default/web ContainerStarted (sandbox) 10.88.0.2 initial")
		c.stopped("2 events in 0s: 2 ContainerStarted · 1 full relist, max 0ms · every change had a hint")
	})
}

// gone is an output whose reader has gone away.
type gone struct{}

func (gone) Write([]byte) (int, error) { return 0, syscall.EPIPE }

func TestWatchEndsWithItsReader(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.startTo(gone{}, nil, "pleg", "watch")
		c.ends(shell.ExitFailed, 10*time.Second) // nothing happens that is to be printed
	})
}

func TestWatchFilters(t *testing.T) {
	for _, c := range []struct {
		name  string
		flags []string
		want  []string
	}{
		{"namespace", []string{"--namespace=kube"}, []string{"kube/dns ContainerStarted (sandbox)", "kube/dns ContainerDied (sandbox)", "kube/dns ContainerRemoved (sandbox)"}},
		{"pods", []string{"--pod=kube/dns", "--pod=cache", "--pod=default/dns", "-n=kube"}, []string{"kube/dns ContainerStarted (sandbox)", "kube/dns ContainerDied (sandbox)", "kube/dns ContainerRemoved (sandbox)"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				watch := w.watch(append(c.flags, "-o", "json")...)
				for _, p := range [][]string{{"default", "web", "app=web"}, {"kube", "dns", "app=dns"}, {"default", "cache", "app=dns", "tier=cache"}} {
					started := w.pod(p[0], p[1], p[2:]...)
					synctest.Wait()
					started.Remove()
					synctest.Wait()
				}
				watch.interrupt()
				watch.ends(shell.ExitOK, time.Second)
				var got []string
				for _, l := range watchLines(t, watch) {
					if l.Type == "event" {
						got = append(got, l.Namespace+"/"+l.Name+" "+l.Event+" (sandbox)")
					}
				}
				if strings.Join(got, "\n") != strings.Join(c.want, "\n") {
					t.Errorf("%q, want %q", got, c.want)
				}
			})
		})
	}
}

// watchLines reads what `-o json` has printed.
func watchLines(t *testing.T, c *command) []pleg.WatchLine {
	t.Helper()
	var lines []pleg.WatchLine
	for text := range strings.Lines(c.out.String()) {
		var l pleg.WatchLine
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Fatalf("%v in %q", err, text)
		}
		lines = append(lines, l)
	}
	return lines
}

// TestWatchNeverStealsEvents: containerd 1.7 gives each event to one
// subscriber, so podctl must not become one.
func TestWatchNeverStealsEvents(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.sim.SetVersion("containerd", "1.7.35")
		w.sim.SetEvents(sim.EventsSharedQueue)
		c := w.watch()
		c.lines(watchHeader, "relists only: containerd 1.7.35 delivers each event to one subscriber only: podctl would take events from the kubelet")
		w.pod("default", "web")
		time.Sleep(time.Second)
		c.lines("default/web ContainerStarted (sandbox) 10.88.0.2 relist 500ms")
		c.stopped("1 event in 1s: 1 ContainerStarted · 2 full relists, max 0ms · lag max 500ms · no hints")
		w.neverSubscribed()

		c = w.watch("--source=events")
		c.ends(shell.ExitFailed, time.Second)
		want := "podctl: pleg watch: --source events: containerd 1.7.35 delivers each event to one subscriber only: podctl would take events from the kubelet\n"
		if got := c.errw.String(); got != want {
			t.Errorf("stderr %q, want %q", got, want)
		}
		w.neverSubscribed()
	})
}

func (w *world) neverSubscribed() {
	w.t.Helper()
	if calls := w.sim.Calls("GetContainerEvents"); len(calls) > 0 {
		w.t.Errorf("it subscribed: %v", calls)
	}
}

func TestWatchWithoutEventsSaysSo(t *testing.T) {
	for mode, why := range map[sim.EventMode]string{
		sim.EventsUnimplemented: "watch container events: method GetContainerEvents not implemented",
		sim.EventsEOF:           "watch container events: the runtime ended the stream at once: its events are disabled",
	} {
		inWorld(t, func(t *testing.T, w *world) {
			w.sim.SetEvents(mode)
			c := w.watch()
			w.pod("default", "web")
			time.Sleep(time.Second)
			c.lines(watchHeader, "relists only: "+why, "default/web ContainerStarted (sandbox) 10.88.0.2 relist 500ms")
			c.interrupt()
			c.ends(shell.ExitOK, time.Second)
			c.linesMatch("1 event in 1s: 1 ContainerStarted · [234] full relists, max 0ms · lag max 500ms · no hints")
			c.silent()

			c = w.watch("--source=events")
			c.ends(shell.ExitFailed, time.Second)
			if got := c.errw.String(); !strings.HasPrefix(got, "podctl: pleg watch: --source events: "+why+"\n") {
				t.Errorf("stderr %q", got)
			}
		})
	}
}

// TestWatchSourceEvents: full relists are left to what they alone can find.
func TestWatchSourceEvents(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.watch("--source=events")
		w.sim.Inject("method=GetContainerEvents pod=lost drop")
		w.pod("default", "web")
		w.pod("default", "lost")
		time.Sleep(5 * time.Second)
		c.lines(watchHeader, "default/web ContainerStarted (sandbox) 10.88.0.2 hint 0ms")
		time.Sleep(2 * time.Minute)
		c.lines("default/lost ContainerStarted (sandbox) 10.88.0.3 relist 59s")
		c.stopped("2 events in 2m5s: 2 ContainerStarted · 3 full relists, max 0ms · lag max 59s · 1 change without a hint")
	})
}

// TestWatchOverARestart: the runtime goes away and comes back under watch.
// What happened meanwhile is shown, once.
func TestWatchOverARestart(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		web := w.pod("default", "web")
		web.Start("web", "sleep", "3600")
		job := w.pod("default", "job")
		job.Start("job", "sleep", "5")
		c := w.watch()
		w.sim.Crash()
		time.Sleep(10 * time.Second)
		w.sim.Restart()
		time.Sleep(10*time.Second + 300*time.Millisecond)
		c.linesMatch(watchHeader,
			"runtime down: list sandboxes: no process listens at sim:",
			"runtime up again after 1.s", // when gRPC tries again is random
			"default/job ContainerDied job exit 0 relist .*s")
		web.Start("more", "sleep", "3600")
		synctest.Wait()
		c.lines("default/web ContainerStarted more hint 0ms")
		c.interrupt()
		c.ends(shell.ExitOK, time.Second)
		c.linesMatch("2 events in 20s: 1 ContainerStarted, 1 ContainerDied · .* · every change had a hint · event stream interrupted once")
		c.silent()
	})
}

// TestWatchNamesACallThatHangs, while other pods' events keep flowing.
func TestWatchNamesACallThatHangs(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.watch()
		release := w.sim.Inject("method=ContainerStatus container=db hang")
		id := w.pod("default", "db").Start("db", "sleep", "3600")
		synctest.Wait()
		c.lines(watchHeader)
		for range 2 {
			p := w.pod("default", "job")
			time.Sleep(time.Second)
			p.Remove()
			time.Sleep(time.Second)
			c.lines("default/job ContainerStarted (sandbox) 10.88.0.3 hint 0ms", "default/job ContainerDied (sandbox) vanished hint", "default/job ContainerRemoved (sandbox) hint")
		}
		time.Sleep(time.Minute)
		c.lines("no answer for 5s: ContainerStatus of default/db/db (container "+id[:13]+")", "default/db PodSync status does not arrive hint")
		release()
		time.Sleep(2 * time.Second)
		c.linesMatch("default/db ContainerStarted db relist 6.s", `default/db ContainerStarted \(sandbox\) 10.88.0.2 relist 6.s`,
			`answered after 6.s: ContainerStatus of default/db/db \(container `+id[:13]+`\)`)
		c.interrupt()
		c.ends(shell.ExitOK, time.Second)
		c.silent()
	})
}

func TestWatchEndsAfterCountAndTime(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		c := w.watch("--count=2")
		w.pod("default", "web").Start("web", "sleep", "3600")
		c.ends(shell.ExitOK, time.Second)
		c.printed("2 events in")

		c = w.watch("--for=2s")
		c.ends(shell.ExitOK, 2*time.Second)
		c.printed("0 events in 2s")
		c.silent()

		c = w.watch("--for=2s", "--count=1")
		c.ends(shell.ExitFailed, 2*time.Second)
		c.printed("0 events in 2s")
		if got, want := c.errw.String(), "podctl: pleg watch: 0 of 1 event in 2s\n"; got != want {
			t.Errorf("stderr %q, want %q", got, want)
		}
	})
}

func TestWatchInterruptedBeforeItBegan(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		defer w.sim.Inject("method=Version hang")()
		c := w.watch()
		c.goesOn()
		c.interrupt()
		c.ends(shell.ExitInterrupted, time.Second)
		c.silent()
	})
}
