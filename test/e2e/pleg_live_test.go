package e2e

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/podctl/podctl/test/live"
	"github.com/podctl/podctl/test/live/bare"
	"github.com/podctl/podctl/test/live/image"
)

// watched are the kinds of runtimes that differ in their events: each
// subscriber gets them all, none does, they are switched on, off, and one
// subscriber takes them from the other.
var watched = []string{live.Containerd, live.Distro, live.CRIOEvents, live.CRIO, live.Containerd17}

// noHints are the kinds that give podctl no hints, each with its reason.
var noHints = map[string]string{
	live.Distro: "containerd", live.Containerd17: "containerd v1.7.35 delivers each event to one subscriber only", live.CRIO: "its events are disabled",
}

// whole is a pod's life as watch must print it.
var whole = []string{
	"ContainerStarted (sandbox)", "ContainerStarted c", "ContainerDied c, exit 3",
	"ContainerDied (sandbox)", "ContainerRemoved c", "ContainerRemoved (sandbox)",
}

// endsWith3 is a container's command.
const endsWith3 = `trap "exit 3" TERM; echo up; ` + forever

// TestWatchShowsUnmanagedPods: podctl is one process, and this one makes the
// bare CRI calls.
func TestWatchShowsUnmanagedPods(t *testing.T) {
	live.EachOf(t, watched, func(t *testing.T, rt *live.Instance) {
		w := at(t, rt).watch(t)
		w.live("one")
		w.signal(syscall.SIGINT)
		if code := w.wait(); code != 0 {
			t.Errorf("exit code %d", code)
		}
		lines, hints := w.lines(), 0
		for _, l := range lines {
			if l.Source == "hint" {
				hints++
			}
			if l.ExitCode != nil && (l.LagSeconds == nil || *l.LagSeconds > timeout.Seconds()) {
				t.Errorf("lag %v of %+v", l.LagSeconds, l)
			}
		}
		if last := lines[len(lines)-1]; last.Type != "summary" || last.Summary.Events["ContainerDied"] != 3 {
			t.Errorf("last line %+v", last)
		}
		why, without := noHints[rt.Kind]
		switch notes := w.notes(); {
		case without && (hints > 0 || !strings.Contains(notes, why)):
			t.Errorf("%d events came by hints, notes %q", hints, notes)
		case !without && (hints < 3 || notes != ""): // the others may have met a relist
			t.Errorf("%d events came by hints, notes %q", hints, notes)
		}
	})
}

func TestCheckReportsRuntimeHealth(t *testing.T) {
	live.EachOf(t, watched, func(t *testing.T, rt *live.Instance) {
		p := at(t, rt)
		c := dialBare(t, rt)
		there, err := c.Start(t.Context(), bare.Spec{Name: "there", Image: image.BusyboxName, Command: []string{"sleep", "3600"}, LogDir: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		why, without := noHints[rt.Kind]
		hints := map[bool]string{true: "none", false: "broadcast"}[without]
		r, code := p.check()
		if code != 0 || r.Status != "healthy" || r.Pods != 1 || r.Containers != 1 || r.Hints != hints || !strings.Contains(r.NoHints, why) {
			t.Errorf("exit code %d, %+v", code, r)
		}
		rt.Kill(t)
		if r, code := p.check(); code != 3 || r.Status != "unreachable" {
			t.Errorf("killed: exit code %d, %+v", code, r)
		}
		rt.Start(t)
		if r, code := p.check(); code != 0 || r.Pods != 1 {
			t.Errorf("started again: exit code %d, %+v", code, r)
		}
		if err := errors.Join(c.Stop(t.Context(), there), c.Remove(t.Context(), there)); err != nil {
			t.Error(err)
		}
	})
}

// TestWatchStealsNoEvents: on containerd 1.7 a second subscriber gets what
// the first one, which may be a kubelet, then does not.
func TestWatchStealsNoEvents(t *testing.T) {
	live.EachOf(t, []string{live.Containerd17, live.Containerd}, func(t *testing.T, rt *live.Instance) {
		kubelet := subscribe(t, rt)
		w := at(t, rt).watch(t)
		all := lives(t, w.bare, "beside-watch")
		missed := func() string { return strings.Join(kubelet.missed(all), "\n") }
		eventually(t, "all events come", func() bool { return missed() == "" }, missed)
		if rt.Kind != live.Containerd17 {
			return
		}
		thief := subscribe(t, rt)
		all = lives(t, w.bare, "beside-a-thief")
		eventually(t, "all events come to somebody", func() bool { return len(thief.missed(kubelet.missed(all))) == 0 }, missed)
		if missed() == "" {
			t.Error("a second subscriber took nothing: this test shows nothing")
		}
	}, live.Private()) // which remembers subscribers that have gone
}

// TestWatchSurvivesRuntimeRestart: nothing is missed and nothing printed twice.
func TestWatchSurvivesRuntimeRestart(t *testing.T) {
	live.EachOf(t, []string{live.Containerd}, func(t *testing.T, rt *live.Instance) {
		w := at(t, rt).watch(t)
		forever := fmt.Sprintf("9%d", os.Getpid())
		stays, dies := w.run("stays", "sh", "-c", endsWith3), w.run("dies", "sleep", forever)
		w.tells("stays", whole[:2]...)
		w.tells("dies", whole[:2]...)

		rt.Kill(t)
		killProcess(t, "sleep", forever)
		rt.Start(t)

		// containerd 2.4.2 does not know how it ended.
		w.tells("dies", append(whole[:2:2], "ContainerDied c, exit 255")...)
		w.live("later")
		w.end(stays)
		w.tells("stays", whole...)
		w.end(dies)
		w.tells("dies", append(append(whole[:2:2], "ContainerDied c, exit 255"), whole[3:]...)...)
	}, live.Private())
}
