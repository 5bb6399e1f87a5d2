package node

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/podctl/podctl/internal/node/lifecycle"
	"github.com/podctl/podctl/internal/node/render"
	"github.com/podctl/podctl/internal/owners/owner"
	"github.com/podctl/podctl/internal/pod/event"
	"github.com/podctl/podctl/internal/sys/proc"
	"github.com/podctl/podctl/testkit/testutil"
)

func waits(reason lifecycle.Reason) func(Info) bool {
	return func(i Info) bool {
		return i.Lifecycle == lifecycle.Waiting && i.Wait.Reason == reason && i.Wait.Err != nil && !i.NextWake.IsZero()
	}
}

func TestPodStartsOnceNameIsReleased(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		rival, err := owner.Open(filepath.Join(w.root, "locks"), "stop-1", proc.FS(testutil.EmptyProc(t)))
		if err != nil {
			t.Fatal(err)
		}
		if err := rival.Claim("web_default"); err != nil {
			t.Fatal(err)
		}
		a := w.podctl("agent", podYAML("web", "sleep 3600"))
		a.until("web", "waiting", waits(lifecycle.NameHeld))
		time.Sleep(time.Minute)
		if got := len(w.calls("RunPodSandbox")); got != 0 {
			t.Errorf("%d sandboxes were created", got)
		}
		waiting := 0
		for _, reason := range a.reasons() {
			if reason == event.Waiting {
				waiting++
			}
		}
		if waiting != 1 {
			t.Errorf("%d events say that it waits, want 1: %v", waiting, a.reasons())
		}
		if err := rival.Close(); err != nil {
			t.Fatal(err)
		}
		released := time.Now()
		a.until("web", "running", running)
		if took := time.Since(released); took > lifecycle.MaxRetryPeriod+2*housekeepingPeriod {
			t.Errorf("it started %v after its name was released", took)
		}
		a.drain()
		w.empty()
	})
}

func TestPodStartsOnceForeignPodIsGone(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a := w.podctl("agent")
		id := a.createForeign("web")
		a.want(podYAML("web", "sleep 3600"))
		a.until("web", "waiting", waits(lifecycle.ForeignPod))
		if err := a.client.RemovePodSandbox(t.Context(), id); err != nil {
			t.Fatal(err)
		}
		a.until("web", "running", running)
		a.drain()
		w.empty()
	})
}

// createForeign has the runtime run a sandbox that podctl did not create.
func (p *podctl) createForeign(name string) (id string) {
	p.t.Helper()
	sandbox, err := render.Sandbox(desire(p.t, podYAML(name, "sleep 1"))[0].Pod, render.SandboxInput{Node: p.opts.Facts})
	if err != nil {
		p.t.Fatal(err)
	}
	sandbox.Metadata.Uid = "made-by-crictl"
	sandbox.Labels["io.kubernetes.pod.uid"] = "made-by-crictl"
	if id, err = p.client.RunPodSandbox(p.t.Context(), sandbox, ""); err != nil {
		p.t.Fatal(err)
	}
	return id
}

// As on a full disk: the lock's file cannot be created.
func TestPodStartsOnceLockCanBeTaken(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a := w.podctl("agent")
		time.Sleep(time.Second)
		// In place of the lock's file there is a directory.
		inTheWay := filepath.Join(w.root, "locks", "pod-web_default.lock")
		if err := os.Mkdir(inTheWay, 0o700); err != nil {
			t.Fatal(err)
		}
		a.want(podYAML("web", "sleep 3600"))
		a.until("web", "waiting", waits(lifecycle.LockFailed))
		if err := os.Remove(inTheWay); err != nil {
			t.Fatal(err)
		}
		a.until("web", "running", running)
		a.drain()
		w.empty()
	})
}

func TestRejectedPodWithFixedUIDIsRetriedOnChange(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.allocatable = quantities("cpu", "1", "memory", "1Gi", "pods", "3")
		a := w.podctl("agent", requesting("2", fixUID("web", podYAML("web", "sleep 3600"))))
		a.until("web", "rejected", rejected("OutOfcpu"))
		a.want(requesting("500m", fixUID("web", podYAML("web", "sleep 3600"))))
		a.until("web", "running", running)
		a.drain()
		w.empty()
	})
}

func TestStopAndStartReportCurrentCause(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		web := podYAML("web", "sleep 3600", "terminationGracePeriodSeconds: 1")
		first := w.podctl("run-a", web)
		first.until("web", "running", running)
		agent := w.podctl("agent", podYAML("web", "sleep 7200", "terminationGracePeriodSeconds: 1"))
		agent.until("web", "waiting", waits(lifecycle.NameHeld))
		var notRunning *NotRunningError
		if err := agent.Stop(t.Context(), "default", "web", nil); !errors.As(err, &notRunning) || !strings.Contains(err.Error(), "run-a") {
			t.Errorf("stop: %v", err)
		}
		first.drain()
		if err := agent.Start(t.Context(), "default", "web"); err != nil && !errors.Is(err, ErrNotStopped) {
			t.Errorf("start, once the name is free: %v", err)
		}
		agent.until("web", "running", running)
		agent.drain()
		w.empty()
	})
}
