package node

import (
	"testing"
	"time"

	"github.com/podctl/podctl/internal/worker"
)

// deaf ends at a SIGKILL only, for which it is given ten minutes.
var deaf = podYAML("web", `trap "" TERM; while true; do sleep 1; done`, "terminationGracePeriodSeconds: 600")

func TestDrainShortensGrace(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := w.podctl("run-a", deaf)
		p.until("web", "running", running)
		began := time.Now()
		go func() {
			time.Sleep(10 * time.Second)
			zero := int64(0)
			if err := p.Drain(t.Context(), &zero); err != nil {
				t.Error(err)
			}
		}()
		p.drain()
		if took := time.Since(began); took > 15*time.Second {
			t.Errorf("took %s although it was hurried after 10s", took)
		}
		w.empty()
	})
}

// Phases are told to the node after the fact, and may be told late.
func TestDrainGraceReachesStartingPod(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := w.podctl("run-a", deaf)
		i := p.until("web", "running", running)
		p.mu.Lock()
		p.pods.mu.Lock()
		p.pods.get(i.Pod.UID).stage = worker.Unknown
		p.pods.mu.Unlock()
		p.mu.Unlock()
		began, grace := time.Now(), int64(3)
		if err := p.Drain(t.Context(), &grace); err != nil {
			t.Error(err)
		}
		if took := time.Since(began); took > 10*time.Second {
			t.Errorf("took %s", took)
		}
		p.kill()
		w.empty()
	})
}

// A watcher that looks only after the drain is told each pod's final state, once.
func TestWatcherGetsFinalStateOfRemovedPod(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := w.podctl("run-a", deaf)
		p.until("web", "running", running)
		watcher := p.Watch()
		defer watcher.Stop()
		now := int64(0)
		if err := p.Drain(t.Context(), &now); err != nil {
			t.Error(err)
		}
		gone := watcher.Gone()
		if len(gone) != 1 || !gone[0].Ended() || gone[0].Status.ContainerStatuses[0].State.Terminated == nil {
			t.Errorf("not one terminated pod: %+v", gone)
		}
		if again := watcher.Gone(); len(again) > 0 {
			t.Errorf("told twice: %+v", again)
		}
		p.kill()
		w.empty()
	})
}

// A runtime that hangs does not keep a pod from being ended before it began.
func TestDrainDoesNotWaitForNetworkStatus(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		defer w.sim.Inject("method=Status hang")()
		p := w.podctl("run-a", podYAML("a", "sleep 1"), podYAML("b", "sleep 1"))
		time.Sleep(time.Second)
		began := time.Now()
		p.drain()
		if took := time.Since(began); took > time.Second {
			t.Errorf("took %s", took)
		}
		w.empty()
	})
}

// A pod that was starting when Drain returned does not start.
func TestNoPodStartsAfterDrain(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		web := podYAML("web", "sleep 3600", "terminationGracePeriodSeconds: 1")
		a := w.podctl("run-a", web)
		a.until("web", "running", running)
		a.kill()
		release := w.sim.Inject("method=PodSandboxStatus hang") // reading its manifest
		b := w.podctl("run-b", web)
		time.Sleep(time.Second)
		if err := b.Drain(t.Context(), nil); err != nil {
			t.Error(err)
		}
		release()
		time.Sleep(time.Second)
		if pods := b.Pods(); len(pods) > 0 {
			t.Errorf("started: %+v", pods)
		}
		b.kill()
		c := w.podctl("run-c", web)
		c.until("web", "running", running)
		c.drain()
		w.empty()
	})
}
