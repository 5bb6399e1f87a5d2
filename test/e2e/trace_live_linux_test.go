package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/test/live"
	"github.com/podctl/podctl/test/live/bare"
)

// traced starts `podctl trace --attach`, and waits until it is attached.
func (p *place) traced(args ...string) *process {
	p.t.Helper()
	trace := p.command("", exec.Command(binary, append(p.flags(), append([]string{"trace", "--attach"}, args...)...)...))
	trace.until("the trace is attached", func() bool {
		_, errw := trace.output()
		return strings.Contains(errw, "\nattached: ")
	})
	return trace
}

// socket is the inode at the runtime's path; it fails the test if a trace has left another
// socket beside it.
func (p *place) socket() uint64 {
	p.t.Helper()
	path := strings.TrimPrefix(p.rt.Endpoint, "unix://")
	if left := glob(p.t, filepath.Join(filepath.Dir(path), ".podctl-trace-*")); len(left) > 0 {
		p.t.Errorf("left over: %v", left)
	}
	var stat syscall.Stat_t
	if err := syscall.Stat(path, &stat); err != nil {
		p.t.Fatal(err)
	}
	return stat.Ino
}

// calling calls the runtime without pause, over one connection and over new ones, until end
// is called, which returns the number of calls. A call that fails fails the test.
func calling(t *testing.T, endpoint string) (end func() int64) {
	t.Helper()
	client, err := bare.Dial(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	var calls atomic.Int64
	var stop atomic.Bool
	var all sync.WaitGroup
	call := func(c *bare.Client) {
		if _, err := c.Runtime.ListContainers(t.Context(), &runtimeapi.ListContainersRequest{}); err != nil {
			t.Errorf("a caller: %v", err)
			stop.Store(true)
		}
		calls.Add(1)
	}
	for range 4 {
		all.Go(func() {
			for !stop.Load() {
				call(client)
			}
		})
	}
	all.Go(func() { // as crictl does
		for !stop.Load() {
			once, err := bare.Dial(endpoint)
			if err != nil {
				t.Error(err)
				return
			}
			call(once)
			_ = once.Close()
			time.Sleep(10 * time.Millisecond)
		}
	})
	return func() int64 {
		stop.Store(true)
		all.Wait()
		_ = client.Close()
		return calls.Load()
	}
}

func TestTraceAttachedToRuntime(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		a := withAgent(t, rt)
		const probe = "    livenessProbe: {exec: {command: [\"true\"]}, periodSeconds: 1}\n    command:"
		a.put("web.yaml", strings.Replace(pod("web", server, brief), "    command:", probe, 1))
		agent := a.agent()
		a.holds("web")
		before := a.socket()

		end := calling(t, rt.Endpoint)
		for range 3 {
			trace := a.traced("--no-headers")
			trace.prints("ExecSync ")
			trace.prints("ListContainers ")
			trace.ends(syscall.SIGINT, 0)
			out, errw := trace.output()
			if strings.Contains(out, "Unavailable") || !strings.Contains(out, "default/web/c") {
				t.Errorf("%s%s", out, errw)
			}
			if got := a.socket(); got != before {
				t.Errorf("the socket has inode %d, it was %d", got, before)
			}
			t.Logf("%s\n%d calls were seen", errw, strings.Count(out, "\n"))
		}
		calls := end()
		t.Logf("%d calls while a trace was attached and detached three times, none failed", calls)

		// Killed: its watchdog gives the runtime its socket back.
		killed := a.traced()
		killed.signal(syscall.SIGKILL)
		killed.wait()
		eventually(t, "the runtime has its socket back", func() bool {
			left := glob(t, filepath.Join(filepath.Dir(strings.TrimPrefix(rt.Endpoint, "unix://")), ".podctl-trace-*"))
			return len(left) == 0
		}, func() string { _, errw := killed.output(); return errw })
		if got := a.socket(); got != before {
			t.Errorf("the socket has inode %d, it was %d", got, before)
		}
		if out := a.does("pods"); !strings.Contains(out, "Running") {
			t.Error(out)
		}
		a.remove("web.yaml")
		a.holds()
		agent.ends(syscall.SIGTERM, 0)
	})
}

// A runtime that is restarted finds its own socket, whether it removes the one that it finds
// or refuses to start where somebody answers.
func TestTraceStepsAsideForARestart(t *testing.T) {
	for _, kind := range live.Kinds() {
		t.Run(kind, func(t *testing.T) {
			rt := live.Runtime(t, kind, live.Private())
			p := makePlace(t, rt)
			for _, restart := range map[string]func(){
				"restarted": func() { rt.Restart(t) },
				"killed":    func() { rt.Kill(t); rt.Start(t) },
			} {
				trace := p.traced()
				restart()
				if code := trace.wait(); code != 1 {
					out, errw := trace.output()
					t.Errorf("exit code %d\n%s%s", code, out, errw)
				}
				p.socket()
				if out := p.does("version"); !strings.Contains(out, "CRI v1 at") {
					t.Error(out)
				}
			}
		})
	}
}

func TestTraceBesideAKubelet(t *testing.T) {
	for _, kind := range []string{live.KubeletKind, live.KubeletCRIOKind} {
		t.Run(kind, func(t *testing.T) {
			const pods = 20
			k := live.StartKubeletOf(t, kind)
			p := makePlace(t, k.Runtime)
			k.WriteStatic(t, "first.yaml", requesting("10m", pod("first", server, brief)))
			k.Runs(t, "first")
			before := p.socket()
			file := p.path("calls.json")
			trace := p.traced("-o", "json", "--write", file)
			names := []string{"first"}
			write := func() {
				for range pods / 2 {
					name := fmt.Sprintf("pod-%d", len(names))
					names = append(names, name)
					k.WriteStatic(t, name+".yaml", requesting("10m", pod(name, server, brief)))
				}
			}
			write()
			time.Sleep(3 * time.Second) // in the middle of the starts
			trace.ends(syscall.SIGINT, 0)
			_, errw := trace.output()
			t.Logf("%s", errw)
			again := p.traced("-o", "json", "--write", p.path("again.json"))
			write()
			k.Runs(t, names...)
			// The kubelet is seen through the trace.
			run := p.command(pod("mine", "exit 0", brief), exec.Command(binary, append(p.flags(), "run", "-")...))
			code := run.wait()
			if _, errw := run.output(); code != 1 || !strings.Contains(errw, "kubelet") {
				t.Errorf("run beside the kubelet: exit code %d, %s", code, errw)
			}
			again.ends(syscall.SIGINT, 0)
			_, errw = again.output()
			t.Logf("%s", errw)
			if got := p.socket(); got != before {
				t.Errorf("the socket has inode %d, it was %d", got, before)
			}
			failed := 0
			for _, pod := range k.Pods(t) {
				for _, c := range pod.Status.ContainerStatuses {
					if c.RestartCount > 0 || pod.Status.Phase != v1.PodRunning {
						failed++
						t.Errorf("%s: %s, %d restarts", pod.Name, pod.Status.Phase, c.RestartCount)
					}
				}
			}
			starts := 0
			for _, name := range []string{file, p.path("again.json")} {
				text, err := os.ReadFile(name)
				if err != nil {
					t.Fatal(err)
				}
				for line := range strings.Lines(string(text)) {
					var call struct{ Type, Method, Code, Message string }
					if err := json.Unmarshal([]byte(line), &call); err != nil {
						t.Fatal(err)
					}
					if call.Method == "StartContainer" && call.Code == "OK" {
						starts++
					}
					if call.Code == "Unavailable" || call.Code == "Canceled" && call.Method != "GetContainerEvents" {
						t.Errorf("%s", line)
					}
				}
			}
			log, err := os.ReadFile(filepath.Join(filepath.Dir(k.Root), "kubelet.log"))
			if err != nil {
				t.Fatal(err)
			}
			unavailable := strings.Count(string(log), "code = Unavailable")
			t.Logf("failed pods: %d of %d, containers started through the trace: %d, calls that were unavailable to the kubelet: %d", failed, len(names), starts, unavailable)
			if unavailable > 0 || starts < pods/2 {
				t.Errorf("the kubelet's log has %d calls that were unavailable; %d starts were traced", unavailable, starts)
			}
		})
	}
}
