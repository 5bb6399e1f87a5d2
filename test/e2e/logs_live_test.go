package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/podctl/podctl/test/live"
	"github.com/podctl/podctl/test/live/bare"
	"github.com/podctl/podctl/test/live/image"
	"github.com/podctl/podctl/test/pty"
)

// counting writes numbered lines after the number N of its attempt, until /mark/stopN
// exists, and exits once /mark/exitN does: containerd 1.6 loses what is in the pipe of a
// container that exits.
const counting = `echo x >> /mark/attempts; a=$(wc -l < /mark/attempts); n=0; while [ ! -e /mark/stop$a ]; do n=$((n+1)); echo attempt $a line $n; sleep 0.02; done; echo attempt $a ends; until [ -e /mark/exit$a ]; do sleep 0.1; done; exit 1`

// numbered are the lines that counting writes, as far as they are in out: each
// attempt's without a gap or a repetition. It returns the number of attempts.
func numbered(t *testing.T, out string) (attempts, lines int) {
	t.Helper()
	line := 0
	for l := range strings.Lines(out) {
		var a, n int
		if got, err := fmt.Sscanf(l, "attempt %d line %d\n", &a, &n); got < 2 || err != nil {
			continue
		}
		if a != attempts {
			attempts, line = a, 0
		}
		if line++; line != n {
			t.Fatalf("attempt %d has line %d after %d", a, n, line-1)
		}
		lines++
	}
	return attempts, lines
}

// Following loses and repeats no line when the log is rotated, the container restarts and
// the pod is replaced; Ctrl-C ends it at once.
func TestLogsAreFollowed(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		a := withAgent(t, rt)
		a.put("web.yaml", a.marked("web", counting, "terminationGracePeriodSeconds: 1"))
		agent := a.agent("--drain", "--container-log-max-size", "4Ki", "--container-log-max-files", "20")
		a.wrote("attempts", "x")
		follow := a.command("", exec.Command(binary, append(a.flags(), "logs", "-f", "web")...))
		follow.prints("attempt 1 line 60\n")
		watch := a.command("", exec.Command(binary, append(a.flags(), "events", "-w", "web", "-o", "json")...))
		watch.prints(`"reason":"Started"`)
		a.touch("stop1")
		follow.prints("attempt 1 ends\n")
		a.touch("exit1")
		follow.prints("attempt 2 line 20\n")
		watch.prints(`"reason":"Exited"`)
		watch.signal(syscall.SIGINT)
		if code := watch.wait(); code != 0 && code != 130 {
			t.Errorf("events -w: exit %d", code)
		}
		for line := range strings.Lines(outputOf(watch)) {
			var e struct{ Object struct{ Name string } }
			if err := json.Unmarshal([]byte(line), &e); err != nil || e.Object.Name != "web" {
				t.Errorf("events -w: %v\n%s", err, line)
			}
		}
		rotated := func() []string { return glob(t, a.path("logs")+"/default_web_*/c/*.log.*") }
		eventually(t, "the log is rotated", func() bool { return len(rotated()) > 0 }, func() string { return fmt.Sprint(rotated()) })
		_, written := numbered(t, outputOf(follow))
		follow.prints(fmt.Sprintf("attempt 2 line %d\n", written+20))
		attempts, _ := numbered(t, outputOf(follow))
		if attempts != 2 {
			t.Errorf("followed %d attempts", attempts)
		}

		out, errw, code := a.podctl("logs", "-p", "web", "--tail", "1")
		if code != 0 || errw != "" || out != "attempt 1 ends\n" {
			t.Errorf("-p: exit %d, %q%s", code, out, errw)
		}
		out, errw, code = a.podctl("logs", "web")
		if first, _, _ := strings.Cut(out, "\n"); code != 0 || errw != "" || first != "attempt 2 line 1" {
			t.Errorf("with rotated files: exit %d, begins with %q\n%s", code, first, errw)
		}
		numbered(t, out)

		a.put("web.yaml", strings.Replace(a.marked("web", counting, "terminationGracePeriodSeconds: 1"), "name: c", "name: c\n    env: [{name: CHANGED, value: x}]", 1))
		follow.prints("attempt 3 line 5\n")
		begin := time.Now()
		follow.signal(syscall.SIGINT)
		if code := follow.wait(); code != 0 || time.Since(begin) > 5*time.Second {
			t.Errorf("interrupted: exit %d after %s", code, time.Since(begin))
		}
		if attempts, _ := numbered(t, outputOf(follow)); attempts != 3 {
			t.Errorf("followed %d attempts", attempts)
		}
		a.eventsOutlive(agent)
	})
}

func outputOf(p *process) string {
	out, _ := p.output()
	return out
}

// eventsOutlive checks that the events of web are there after the agent.
func (a *agentPlace) eventsOutlive(agent *process) {
	a.t.Helper()
	agent.signal(syscall.SIGTERM)
	if code := agent.wait(); code != 0 {
		out, errw := agent.output()
		a.t.Errorf("the agent exits %d\n%s%s", code, out, errw)
	}
	out, errw, code := a.podctl("events", "web", "-o", "json")
	var events []struct {
		Type, Reason string
		Object       struct{ Namespace, Name, Container string }
		Event        struct {
			Exit *struct{ Code int }
		}
	}
	if err := json.Unmarshal([]byte(out), &events); err != nil || code != 0 || errw != "" {
		a.t.Fatalf("events: exit %d, %v\n%s%s", code, err, out, errw)
	}
	var seen []string
	for _, e := range events {
		seen = append(seen, e.Reason+" "+e.Object.Container)
		if e.Reason == "Exited" && e.Event.Exit == nil {
			a.t.Errorf("an exit without its code: %s", out)
		}
	}
	for _, want := range []string{"Started c", "Exited c", "Removed "} {
		if !slices.Contains(seen, want) {
			a.t.Errorf("no event %q in %q", want, seen)
		}
	}
}

// Pods that podctl did not make, merged by time; what they write to a terminal has
// no effect there.
func TestLogsOfBarePods(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		p := at(t, rt)
		c := dialBare(t, rt)
		dir := t.TempDir()
		var pods []*bare.Pod
		for _, name := range []string{"one", "two"} {
			logs := filepath.Join(dir, name)
			if err := os.Mkdir(logs, 0o755); err != nil {
				t.Fatal(err)
			}
			pod, err := c.Start(t.Context(), bare.Spec{
				Name: name, Unlabelled: true, Image: image.BusyboxName, LogDir: logs,
				Command: []string{"sh", "-c", `for i in 1 2 3; do printf '` + name + ` %s\033[2J\033[31mred\n' $i; sleep 0.1; done; printf unended`},
			})
			if err != nil {
				t.Fatal(err)
			}
			pods = append(pods, pod)
			t.Cleanup(func() {
				if err := c.End(context.Background(), pod); err != nil {
					t.Error(err)
				}
			})
		}
		out, errw, code := p.podctl("logs", "-f", "one")
		if want := "one 1\x1b[2J\x1b[31mred\none 2\x1b[2J\x1b[31mred\none 3\x1b[2J\x1b[31mred\nunended"; code != 0 || errw != "" || strings.TrimSuffix(out, "\n") != want {
			t.Errorf("exit %d, %q, want %q\n%s", code, out, want, errw)
		}
		eventually(t, "the second ends", func() bool { out, errw, _ = p.podctl("logs", "two"); return strings.Contains(out, "unended") }, func() string { return out + errw })
		out, errw, code = p.podctl("logs", "-t", "--prefix", "one", "two")
		times := []string{}
		for l := range strings.Lines(out) {
			if _, rest, ok := strings.Cut(l, " | "); ok {
				stamp, _, _ := strings.Cut(rest, " ")
				times = append(times, stamp)
			}
		}
		if code != 0 || errw != "" || len(times) != 8 || !slices.IsSorted(times) {
			t.Errorf("exit %d, times %q\n%s%s", code, times, out, errw)
		}
		term := pty.Start(t, exec.Command(binary, append(p.flags(), "logs", "one", "two")...))
		if code := term.Wait(); code != 0 {
			t.Errorf("on a terminal: exit %d", code)
		}
		shown := term.Output()
		if strings.Contains(shown, "\x1b[2J") || !strings.Contains(shown, "\x1b[31mred\x1b[0m") || !strings.Contains(shown, "default/one/") || !strings.Contains(shown, "\x1b[36m") {
			t.Errorf("on a terminal: %q", shown)
		}
		if err := os.Remove(pods[0].LogPath()); err != nil {
			t.Fatal(err)
		}
		if out, errw, code := p.podctl("logs", "one"); code != 1 || out != "" || !strings.Contains(errw, "does not exist on this host") {
			t.Errorf("without the file: exit %d, %q\n%s", code, out, errw)
		}
	})
}
