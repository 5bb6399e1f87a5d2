package node

import (
	"errors"
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

// What an earlier podctl left is terminated, too, although a drain comes before it is adopted.
func TestDrainTerminatesPodsOfPredecessor(t *testing.T) {
	slow := "method=PodSandboxStatus delay=700ms"
	web, job := podYAML("web", "sleep 3600", "terminationGracePeriodSeconds: 1"), podYAML("job", "exit 0", "restartPolicy: Never")
	older := podYAML("web", "sleep 7200", "terminationGracePeriodSeconds: 1")
	for name, end := range map[string]func(t *testing.T, p *podctl){
		"drain": func(t *testing.T, p *podctl) { p.drain() },
		"shutdown": func(t *testing.T, p *podctl) {
			if err := p.Shutdown(t.Context(), time.Minute); err != nil {
				t.Error(err)
			}
			p.kill()
		},
	} {
		for what, before := range map[string]string{"same manifest": web, "older manifest": older} {
			t.Run(name+" "+what, func(t *testing.T) {
				inWorld(t, func(t *testing.T, w *world) {
					a := w.podctl("run-a", before, job)
					a.until("web", "running", running)
					a.until("job", "finished", finished)
					a.kill()
					defer w.sim.Inject(slow)()
					b := w.podctl("run-a", web, job)
					time.Sleep(100 * time.Millisecond)
					end(t, b)
					if containers, _ := w.live(); containers > 0 {
						t.Errorf("%d containers run: %v", containers, w.calls())
					}
					if name == "drain" {
						w.empty()
						return
					}
					c := w.podctl("run-a", job)
					if i := c.until("job", "finished", finished); i.Status.Phase != "Succeeded" {
						t.Errorf("the job that had ended is %s", i.Status.Phase)
					}
					if n := len(w.calls("StartContainer")); n != 2 {
						t.Errorf("%d starts", n)
					}
					c.drain()
				})
			})
		}
	}
}

// A runtime that does not say what it holds may hold pods: a shutdown says that some may be left.
func TestShutdownReportsPodsThatCannotBeRead(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		web := podYAML("web", "sleep 3600")
		a := w.podctl("run-a", web)
		a.until("web", "running", running)
		a.kill()
		for _, fault := range []string{"method=ListPodSandbox hang", "method=PodSandboxStatus hang"} {
			release := w.sim.Inject(fault)
			b := w.podctl("run-a", web)
			if err := b.Shutdown(t.Context(), time.Minute); !errors.Is(err, ErrPodsLeft) {
				t.Errorf("%s: %v", fault, err)
			}
			release()
			b.kill()
		}
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
