package e2e

import (
	"encoding/json"
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
		w.live("one")
		later := w.run("later", "sleep", "60")
		eventually(t, "it has recorded what came later", func() bool {
			tape, err := os.ReadFile(file)
			return err == nil && strings.Contains(string(tape), `"later"`)
		}, func() string { out, errw := recording.output(); return out + errw })
		w.end(later)
		recording.signal(syscall.SIGINT)
		if code := recording.wait(); code != 0 {
			t.Errorf("record: exit code %d", code)
		}
		tape, err := os.ReadFile(file)
		if err != nil || strings.Contains(string(tape), "trap") || !strings.Contains(string(tape), `"one"`) {
			t.Errorf("the tape has the command, or not the pod: %v\n%s", err, tape)
		}
		replay := &watch{p.command("", exec.Command(binary, "pleg", "replay", "-o", "json", file)), w.bare}
		if code := replay.wait(); code != 0 {
			_, errw := replay.output()
			t.Fatalf("replay: exit code %d\n%s", code, errw)
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
		w.live("before") // until then it compares
		w.live("one")
		var events []string
		var missed int
		read := func() {
			events = nil
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
				if l.Type == "transition" && l.Name == "one" {
					events = append(events, l.Event)
				}
				missed = l.Summary.MissedByHints
			}
			slices.Sort(events)
		}
		eventually(t, "compare tells of the whole life", func() bool { read(); return len(events) >= len(whole) },
			func() string { out, errw := compare.output(); return out + errw })
		compare.signal(syscall.SIGINT)
		if code := compare.wait(); code != 0 {
			t.Errorf("compare: exit code %d", code)
		}
		read()
		want := []string{"ContainerDied", "ContainerDied", "ContainerRemoved", "ContainerRemoved", "ContainerStarted", "ContainerStarted"}
		if !slices.Equal(events, want) || missed > 0 {
			t.Errorf("compared %q, want %q; events missed %d", events, want, missed)
		}
	})
}
