package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/podctl/podctl/test/live"
	"github.com/podctl/podctl/test/live/record"
)

// place holds the directories of the podctl processes of one test.
type place struct {
	t  *testing.T
	rt *live.Instance
	// endpoint is the runtime's, or that of the proxy in front of it.
	endpoint string
	// dir holds root, logs, run, and mark, where containers leave marks.
	dir   string
	proxy *record.Proxy
	// started are the processes that the test started, for what they printed.
	started []*process
}

// each runs the test on every kind of runtime, side by side: on each there is
// one test at a time.
func each(t *testing.T, test func(t *testing.T, rt *live.Instance)) {
	for _, kind := range live.Kinds() {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			test(t, live.Runtime(t, kind))
		})
	}
}

// at makes a place on a runtime, and fails the test if anything is left of it
// or of pods when the test ends. The test must be alone on its runtime.
func at(t *testing.T, rt *live.Instance) *place {
	t.Helper()
	p := makePlace(t, rt)
	rt.Leftovers(t, p.path("root"), p.path("logs"), p.path("run"))
	return p
}

// beside makes a place for one of several tests that share a runtime at one
// time, and fails the test if anything is left of the place when it ends. What
// is left in the runtime is for the test around them to see.
func beside(t *testing.T, rt *live.Instance) *place {
	t.Helper()
	p := makePlace(t, rt)
	t.Cleanup(func() {
		for _, dir := range []string{"root/pods", "logs", "run"} {
			left, err := filepath.Glob(p.path(dir) + "/*")
			left = slices.DeleteFunc(left, func(path string) bool { return path == p.path("run/host-ports") })
			if err != nil || len(left) > 0 {
				t.Errorf("left over: %v %v", left, err)
			}
		}
	})
	return p
}

func makePlace(t *testing.T, rt *live.Instance) *place {
	t.Helper()
	dir, err := os.MkdirTemp("", "e2e-") // short: sockets live in it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() { // what its pods had mounted may be left
			_ = exec.Command("sh", "-c", `for m in $(grep -o " $0/[^ ]*" /proc/self/mountinfo); do umount -l "$m"; done`, dir).Run()
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	warnings := rt.Logged("level=warn", "level=error", "level=fatal")
	t.Cleanup(func() {
		if lines := warnings(); t.Failed() {
			t.Logf("last warnings of the runtime meanwhile:\n%s", strings.Join(lines[max(0, len(lines)-40):], "\n"))
		}
	})
	p := &place{t: t, rt: rt, endpoint: rt.Endpoint, dir: dir}
	for _, d := range []string{"root/pods", "logs", "mark"} {
		if err := os.MkdirAll(p.path(d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	// The locks of user id ranges and host ports stay when the last pod is removed.
	if err := os.MkdirAll(p.path("run/host-ports"), 0o700); err != nil {
		t.Fatal(err)
	}
	// The journal of events outlives its writers.
	if err := os.Mkdir(p.path("root/events"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p.path("root/events/journal.jsonl"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p.path("root/.userns.lock"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *place) path(name string) string { return filepath.Join(p.dir, name) }

// flags are podctl's global ones.
func (p *place) flags() []string {
	return []string{
		"-r", p.endpoint, "--root", p.path("root"), "--log-dir", p.path("logs"),
		"--run-dir", p.path("run"), "--cgroup-root", p.rt.CgroupRoot(),
	}
}

// proxied puts a recording proxy before the runtime.
func (p *place) proxied() *place {
	p.t.Helper()
	proxy, err := record.Start(p.path("cri.sock"), p.rt.Endpoint)
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { proxy.Close() })
	p.proxy, p.endpoint = proxy, proxy.Endpoint
	return p
}

// marked is a pod whose container has the place's directory mark at /mark.
func (p *place) marked(name, command string, more ...string) string {
	volume := "volumes: [{name: mark, hostPath: {path: " + p.path("mark") + ", type: Directory}}]"
	text := pod(name, command, append(more, volume)...)
	return strings.Replace(text, "command:", "volumeMounts: [{name: mark, mountPath: /mark}]\n    command:", 1)
}

// marks are the lines that containers wrote to /mark/NAME.
func (p *place) marks(name string) []string {
	p.t.Helper()
	data, err := os.ReadFile(filepath.Join(p.path("mark"), name))
	if err != nil && !os.IsNotExist(err) {
		p.t.Fatal(err)
	}
	return strings.Fields(string(data))
}

// has asserts that containers wrote these lines to /mark/NAME, and no others.
func (p *place) has(name string, lines ...string) {
	p.t.Helper()
	if got := p.marks(name); !slices.Equal(got, lines) {
		p.t.Errorf("containers wrote %q, want %q", got, lines)
	}
}

// getsLines waits until containers have written these lines to /mark/NAME.
func (p *place) getsLines(name string, lines ...string) {
	p.t.Helper()
	eventually(p.t, fmt.Sprintf("containers write %q to %s", lines, name),
		func() bool { return slices.Equal(p.marks(name), lines) },
		func() string {
			return fmt.Sprintf("they wrote %q to %s", p.marks(name), filepath.Join(p.path("mark"), name))
		})
}

// gets waits until containers have written as many lines to /mark/service.
func (p *place) gets(lines int) {
	p.t.Helper()
	const name = "service"
	eventually(p.t, fmt.Sprintf("containers write %d lines", lines),
		func() bool { return len(p.marks(name)) >= lines },
		func() string { return fmt.Sprintf("they wrote %q\n%s", p.marks(name), p.outputs()) })
}

// outputs is what each process printed, for the explanation of a failure.
func (p *place) outputs() string {
	var all strings.Builder
	for _, proc := range p.started {
		out, errw := proc.output()
		fmt.Fprintf(&all, "%s\n%s%s", strings.Join(proc.cmd.Args[1:], " "), out, errw)
	}
	return all.String()
}

// mark leaves a mark for containers to find at /mark, unmark takes it away.
func (p *place) mark(name string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.path("mark"), name), nil, 0o644); err != nil {
		p.t.Fatal(err)
	}
}

func (p *place) unmark(name string) {
	p.t.Helper()
	if err := os.Remove(filepath.Join(p.path("mark"), name)); err != nil {
		p.t.Fatal(err)
	}
}
