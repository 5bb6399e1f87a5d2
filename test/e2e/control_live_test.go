package e2e

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/podctl/podctl/internal/owners/control"
	"github.com/podctl/podctl/test/live"
	"github.com/podctl/podctl/test/live/record"
)

// does is the output of a podctl command that succeeds.
func (p *place) does(args ...string) string {
	p.t.Helper()
	out, errw, code := p.podctl(args...)
	if code != 0 {
		p.t.Fatalf("podctl %q: exit code %d\n%s%s", args, code, out, errw)
	}
	return out
}

// lineOf is the line of the output that begins with a word, its columns separated
// by one space.
func lineOf(out, word string) string {
	for l := range strings.Lines(out) {
		if words := strings.Fields(l); len(words) > 0 && words[0] == word {
			return strings.Join(words, " ")
		}
	}
	return ""
}

func matches(t *testing.T, text, pattern string) {
	t.Helper()
	if !regexp.MustCompile(pattern).MatchString(text) {
		t.Errorf("%q does not match %s", text, pattern)
	}
}

// plainHTTP asks the socket as curl --unix-socket does.
func plainHTTP(t *testing.T, socket, path string, into any) {
	t.Helper()
	c := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}}
	res, err := c.Get("http://podctl" + path)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if err := json.NewDecoder(res.Body).Decode(into); err != nil || res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d %v", path, res.StatusCode, err)
	}
}

const (
	obedient = `trap "exit 0" TERM; sleep 3600 & wait`
	stubborn = `trap "" TERM; ` + forever
)

// Other podctl processes list the pods of a run, stop and start them, and show
// why one does not terminate.
func TestCommandsReachPodsOfRun(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		p := at(t, rt).proxied()
		hold, blocked := make(chan struct{}), make(chan struct{})
		let := sync.OnceFunc(func() { close(hold) })
		t.Cleanup(let)
		run := p.start(pod("web", obedient, brief)+pod("deaf", stubborn, "terminationGracePeriodSeconds: 3"), "-")
		run.prints("default/web")

		var out string
		eventually(t, "both pods run", func() bool {
			out = p.does("pods")
			return strings.Count(out, " Running ") == 2
		}, func() string { return out })
		matches(t, lineOf(out, "default/web"), `^default/web Running syncing run-[0-9a-f]{8} 1/1 0 10\.[0-9.]+ \d+s$`)

		sockets, err := filepath.Glob(p.path("run") + "/*/run-*.sock")
		if err != nil || len(sockets) != 1 {
			t.Fatalf("sockets: %v %v", sockets, err)
		}
		var list struct {
			Kind  string
			Items []struct {
				Metadata struct{ Name string }
				Status   struct{ Phase, PodIP string }
			}
		}
		plainHTTP(t, sockets[0], "/pods", &list)
		if list.Kind != "PodList" || len(list.Items) != 2 || list.Items[1].Metadata.Name != "web" || list.Items[1].Status.Phase != "Running" || list.Items[1].Status.PodIP == "" {
			t.Errorf("/pods: %+v", list)
		}
		clients, err := control.Find(filepath.Dir(sockets[0]), nil)
		if err != nil || len(clients) != 1 {
			t.Fatalf("Find: %v %v", clients, err)
		}
		metrics, err := clients[0].Get(t.Context(), "/metrics")
		if err != nil || !strings.Contains(string(metrics), "kubelet_running_pods 2\n") || !strings.Contains(string(metrics), `kubelet_runtime_operations_total{operation_type="run_podsandbox"} 2`) {
			t.Errorf("/metrics: %v\n%s", err, metrics)
		}

		matches(t, p.does("stop", "web"), `^default/web stopped by run-`)
		matches(t, lineOf(p.does("pods"), "default/web"), `^default/web Stopped (terminated|finished) run-\S+ 0/1 `)
		matches(t, p.does("start", "web"), `^default/web started by run-`)

		var once sync.Once
		p.proxy.Watch(func(c record.Call) {
			if c.Method == "StopContainer" {
				once.Do(func() { close(blocked); <-hold })
			}
		}, nil)
		stop := p.command("", exec.Command(binary, append(p.flags(), "stop", "deaf")...))
		<-blocked
		eventually(t, "the grace is overrun", func() bool {
			out = p.does("terminating")
			return regexp.MustCompile(`default/deaf +\d+s +-\d+s `).MatchString(out)
		}, func() string { return out })
		matches(t, lineOf(out, "default/deaf"), `^default/deaf \d+s -\d+s c \(pid \d+, [SR]\) `)
		let()
		if code := stop.wait(); code != 0 {
			t.Errorf("stop: exit code %d", code)
		}
		eventually(t, "no pod is terminating: a stopped one may still be cleaned up", func() bool {
			out = p.does("terminating")
			return out == ""
		}, func() string { return out })
		run.signal(syscall.SIGINT)
		run.wait()
	})
}

// The pods of a podctl that was killed are orphans, and any podctl may terminate
// them by the runtime alone.
func TestPodsOfKilledRunAreRemoved(t *testing.T) {
	each(t, func(t *testing.T, rt *live.Instance) {
		p := at(t, rt)
		run := p.start(p.marked("web", `cd /mark; trap "echo down >> service; exit 0" TERM; echo up >> service; `+forever), "-")
		p.gets(1)
		run.prints("c started") // else the runtime may call the start off
		run.signal(syscall.SIGKILL)
		run.wait()
		matches(t, lineOf(p.does("pods", "--orphans"), "default/web"), `^default/web Running - run-\S+ \(exited\) 1/1 0 \S+ `)
		began := time.Now()
		matches(t, p.does("rm", "web"), `^default/web removed\n$`)
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("it took %s", took)
		}
		p.has("service", "up", "down")
		if out := p.does("pods"); out != "" {
			t.Errorf("left: %s", out)
		}
		for _, dir := range []string{"root/pods", "logs"} {
			if left, err := os.ReadDir(p.path(dir)); err != nil || len(left) > 0 {
				t.Errorf("left in %s: %v, %v", dir, left, err)
			}
		}
		job, errw, code := p.run(pod("web", "true", never), "-")
		if code != 0 {
			t.Errorf("exit code %d\n%s%s", code, job, errw)
		}
	})
}
