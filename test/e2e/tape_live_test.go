package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/podctl/podctl/test/live"
)

// A recording of a real runtime, replayed elsewhere, prints what a watch printed
// there, and holds no commands.
func TestReplayPrintsWhatWatchPrinted(t *testing.T) {
	live.EachOf(t, []string{live.Containerd, live.Distro}, func(t *testing.T, rt *live.Instance) {
		w := at(t, rt).watch(t)
		file := filepath.Join(t.TempDir(), "tape")
		p := makePlace(t, rt)
		recording := p.command("", exec.Command(binary, append(p.flags(), "pleg", "record", file)...))
		eventually(t, "it records", func() bool {
			info, err := os.Stat(file)
			return err == nil && info.Size() > 0
		}, func() string { out, errw := recording.output(); return out + errw })
		replayed := func() *watch {
			replay := &watch{process: p.command("", exec.Command(binary, "pleg", "replay", "-o", "json", file))}
			replay.wait()
			return replay
		}
		w.also = func(pod string) int { return len(replayed().of(pod)) }
		w.live("one")
		recording.signal(syscall.SIGINT)
		if code := recording.wait(); code != 0 {
			t.Errorf("record: exit code %d", code)
		}
		tape, err := os.ReadFile(file)
		if err != nil || strings.Contains(string(tape), "trap") || !strings.Contains(string(tape), `"one"`) {
			t.Errorf("the tape has the command, or not the pod: %v\n%s", err, tape)
		}
		replay := replayed()
		if _, errw := replay.output(); replay.cmd.ProcessState.ExitCode() != 0 {
			t.Fatalf("replay: %v\n%s", replay.cmd.ProcessState, errw)
		}
		// A relist that sees several changes at once reports containers first.
		got, want := slices.Sorted(slices.Values(replay.of("one"))), slices.Sorted(slices.Values(whole))
		if !slices.Equal(got, want) {
			t.Errorf("the replay told\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

// Relists and the runtime's events, side by side: each change is reported by both,
// and where the runtime has no events, that is reported.
func TestCompareOfARealRuntime(t *testing.T) {
	live.EachOf(t, []string{live.Containerd, live.Distro}, func(t *testing.T, rt *live.Instance) {
		w := at(t, rt).watch(t)
		p := makePlace(t, rt)
		compare := p.command("", exec.Command(binary, append(p.flags(), "pleg", "compare", "--for", "0", "-o", "json")...))
		if rt.Kind == live.Distro {
			code := compare.wait()
			if _, errw := compare.output(); code != 1 || !strings.Contains(errw, "nothing to compare relists with") {
				t.Errorf("exit code %d\n%s", code, errw)
			}
			return
		}
		var missed int
		compared := func(pod string) (events []string) {
			out, _ := compare.output()
			for line := range strings.Lines(out) {
				var l struct {
					Type, Name, Event string
					Summary           struct{ MissedByHints int }
				}
				if !strings.HasSuffix(line, "\n") {
					break // half of it has come
				}
				if err := json.Unmarshal([]byte(line), &l); err != nil {
					t.Fatalf("%v: %s", err, line)
				}
				if l.Type == "transition" && l.Name == pod {
					events = append(events, l.Event)
				}
				missed = l.Summary.MissedByHints
			}
			slices.Sort(events)
			return events
		}
		for i := 0; len(compared(fmt.Sprintf("before-%d", i))) == 0; {
			i++
			w.live(fmt.Sprintf("before-%d", i)) // until it compares
		}
		w.also = func(pod string) int { return len(compared(pod)) }
		w.live("one")
		compare.signal(syscall.SIGINT)
		if code := compare.wait(); code != 0 {
			t.Errorf("compare: exit code %d", code)
		}
		events := compared("one")
		want := []string{"ContainerDied", "ContainerDied", "ContainerRemoved", "ContainerRemoved", "ContainerStarted", "ContainerStarted"}
		if !slices.Equal(events, want) || missed > 0 {
			t.Errorf("compared %q, want %q; events missed %d", events, want, missed)
		}
	})
}
