package daemon

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/node"
	"github.com/podctl/podctl/internal/owners/control"
	"github.com/podctl/podctl/internal/owners/owner"
	"github.com/podctl/podctl/internal/sys/flock"
	"github.com/podctl/podctl/internal/sys/proc"
)

// otherHost is what another podctl shows.
type otherHost struct {
	control.Host
	pod   v1.Pod
	phase string
}

func (h *otherHost) Pods() *v1.PodList { return &v1.PodList{Items: []v1.Pod{h.pod}} }
func (h *otherHost) Workers() []control.Worker {
	return []control.Worker{{UID: h.pod.UID, Phase: h.phase}}
}
func (h *otherHost) ID() string              { return "" }
func (h *otherHost) Settled() bool           { return true }
func (h *otherHost) Checks() []control.Check { return nil }

func withHostPort(uid, name string) *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(uid)}}
	p.Spec.Containers = []v1.Container{{Ports: []v1.ContainerPort{{ContainerPort: 80, HostPort: 8080}}}}
	return p
}

// runDirectory returns a run directory whose path is short enough for a socket.
func runDirectory(t *testing.T) string {
	t.Helper()
	run, err := os.MkdirTemp("", "run")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(run) })
	return run
}

// livingPodctl is the listener of another living podctl.
func livingPodctl(t *testing.T, run, instance string) net.Listener {
	t.Helper()
	dir := filepath.Join(run, "other-runtime")
	locks, err := owner.Open(dir, instance, proc.Default)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = locks.Close() })
	l, err := control.Listen(dir, instance)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// counted counts the requests to a handler and answers them unless it is silent.
type counted struct {
	http.Handler
	requests atomic.Int64
	silent   atomic.Bool
}

func (c *counted) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.requests.Add(1)
	if c.silent.Load() {
		<-r.Context().Done()
		return
	}
	c.Handler.ServeHTTP(w, r)
}

// answering serves another podctl.
func answering(t *testing.T, l net.Listener, host control.Host) *counted {
	t.Helper()
	c := &counted{Handler: control.Handler(host, &control.Broadcaster{}, http.NotFoundHandler())}
	server := control.Serve(l, c, nil)
	t.Cleanup(func() { _ = server.Close() })
	return c
}

// portsOf waits for answers as long as a busy machine may take for them, and asks a silent
// podctl never again.
func portsOf(run string) *hostPorts {
	return &hostPorts{
		runDir: run, own: control.Path(filepath.Join(run, "runtime"), "agent"), log: slog.New(slog.DiscardHandler),
		askTimeout: 3 * time.Minute, pause: time.Hour,
	}
}

func TestHostPortOfOtherPodctl(t *testing.T) {
	run := runDirectory(t)
	other := &otherHost{pod: *withHostPort("b", "web"), phase: "syncing"}
	answering(t, livingPodctl(t, run, "run-b"), other)

	h := portsOf(run)
	mine := withHostPort("a", "api")
	for phase, taken := range map[string]bool{"syncing": true, "terminating": true, "finished": false, "unknown": false} {
		other.phase = phase
		release, err := h.reserve(t.Context(), mine)
		if (err != nil) != taken || taken && err.Error() != "host port in use: default/web (of podctl run-b) has port 8080/TCP" {
			t.Errorf("%s: %v", phase, err)
		}
		if err == nil {
			release()
		}
	}
}

// A suspended podctl neither keeps pods from starting nor takes the time of each
// of them.
func TestSilentPodctlIsAskedOncePerTurn(t *testing.T) {
	run := runDirectory(t)
	silent := answering(t, livingPodctl(t, run, "run-b"), &otherHost{pod: *withHostPort("b", "web"), phase: "syncing"})
	silent.silent.Store(true)
	h := portsOf(run)
	h.askTimeout = portAskTimeout
	for range 20 {
		release, err := h.reserve(t.Context(), withHostPort("a", "api"))
		if err != nil {
			t.Fatal(err)
		}
		release()
	}
	if n := silent.requests.Load(); n != 1 {
		t.Errorf("asked %d times", n)
	}
}

func TestSilentPodctlKeepsLastPorts(t *testing.T) {
	run := runDirectory(t)
	other := answering(t, livingPodctl(t, run, "run-b"), &otherHost{pod: *withHostPort("b", "web"), phase: "syncing"})
	h := portsOf(run)
	for _, what := range []string{"answers", "is silent", "was silent"} {
		_, err := h.reserve(t.Context(), withHostPort("a", "api"))
		if _, inUse := errors.AsType[*node.HostPortInUseError](err); !inUse {
			t.Errorf("the other podctl %s: %v", what, err)
		}
		other.silent.Store(true)
		h.askTimeout = portAskTimeout
	}
}

// Two podctls that answer only once both were asked.
func TestHostPortsAskedConcurrently(t *testing.T) {
	run := runDirectory(t)
	var both sync.WaitGroup
	both.Add(2)
	for _, name := range []string{"run-b", "run-c"} {
		c := answering(t, livingPodctl(t, run, name), &otherHost{pod: *withHostPort("b", name), phase: "syncing"})
		first, next := sync.OnceFunc(both.Done), c.Handler
		c.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			first()
			both.Wait()
			next.ServeHTTP(w, r)
		})
	}
	_, err := portsOf(run).reserve(t.Context(), withHostPort("a", "api"))
	if _, inUse := errors.AsType[*node.HostPortInUseError](err); !inUse {
		t.Errorf("not all were asked: %v", err)
	}
}

// The run directory's lock is that of the cgroups of every pod.
func TestHostPortsDoNotLockTheCgroups(t *testing.T) {
	run := runDirectory(t)
	release, err := portsOf(run).reserve(t.Context(), withHostPort("a", "api"))
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	tried, cancel := context.WithCancel(t.Context())
	cancel()
	unlock, err := flock.LockDir(tried, run)
	if err != nil {
		t.Fatalf("the run directory is locked: %v", err)
	}
	unlock()
	if _, err := portsOf(run).reserve(t.Context(), withHostPort("b", "web")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("another podctl starts a pod with host ports meanwhile: %v", err)
	}
}
