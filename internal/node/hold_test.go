package node

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/podctl/podctl/internal/worker"
)

func stopped(i Info) bool { return i.Stopped && i.WorkerPhase == worker.Finished }

// A stopped pod stays so while its manifest stays, whichever podctl is killed
// meanwhile, and runs again once it is started.
func TestStopSurvivesRestartOfPodctl(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		web := podYAML("web", "sleep 3600", "terminationGracePeriodSeconds: 5")
		a := w.podctl("agent", web)
		a.until("web", "running", running)
		begin := time.Now()
		if err := a.Stop(t.Context(), "default", "web", nil); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(begin); took < 5*time.Second {
			t.Errorf("Stop returned after %s: the pod has 5s", took)
		}
		a.until("web", "stopped", stopped)
		a.kill()
		b := w.podctl("agent", web)
		b.until("web", "stopped still", stopped)
		time.Sleep(time.Minute)
		if got := w.calls("StartContainer"); len(got) != 1 {
			t.Errorf("started although it was stopped: %v", got)
		}
		if err := b.Start(t.Context(), "default", "web"); err != nil {
			t.Fatal(err)
		}
		b.until("web", "running again", running)
		if err := b.Start(t.Context(), "default", "web"); !errors.Is(err, ErrNotStopped) {
			t.Errorf("start of a running pod: %v", err)
		}
		b.kill()
		c := w.podctl("agent", web)
		c.until("web", "running on", running)
		if got := w.calls("StartContainer"); len(got) != 2 {
			t.Errorf("started %v, want twice", got)
		}
		c.drain()
		w.empty()
	})
}

// A stopped pod whose leftovers are removed has no host port for a new podctl.
func TestStoppedPodHasNoHostPortAfterRestart(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a := w.podctl("agent", withPort("a", 8080))
		a.until("a", "running", running)
		if err := a.Stop(t.Context(), "default", "a", nil); err != nil {
			t.Fatal(err)
		}
		a.until("a", "stopped", stopped)
		a.kill()
		b := w.podctl("agent", withPort("a", 8080), withPort("b", 8080))
		b.until("b", "running", running)
		b.drain()
		w.empty()
	})
}

func TestStoppedPodRunsAfterManifestChange(t *testing.T) {
	for name, fix := range map[string]func(name, manifest string) string{
		"another uid": func(_, m string) string { return m }, "the same uid": fixUID,
	} {
		t.Run(name, func(t *testing.T) {
			for _, dead := range []bool{false, true} {
				inWorld(t, func(t *testing.T, w *world) {
					before, after := fix("web", podYAML("web", "sleep 3600")), fix("web", podYAML("web", "sleep 7200"))
					p := w.podctl("agent", before)
					p.until("web", "running", running)
					if err := p.Stop(t.Context(), "default", "web", nil); err != nil {
						t.Fatal(err)
					}
					if dead {
						p.kill()
						p = w.podctl("agent", after)
					} else {
						p.want(after)
					}
					p.until("web", "running", func(i Info) bool { return running(i) && i.Pod.Spec.Containers[0].Command[2] == "sleep 7200" })
					p.drain()
					w.empty()
				})
			}
		})
	}
}

// A stop that podctl was killed in is completed with the rest of its grace,
// and the pod stays down.
func TestInterruptedStopStaysStopped(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		web := podYAML("web", "sleep 3600", "terminationGracePeriodSeconds: 60")
		a := w.podctl("agent", web)
		a.until("web", "running", running)
		go func() { _ = a.Stop(t.Context(), "default", "web", nil) }() // its podctl is killed
		time.Sleep(20 * time.Second)
		a.client.Close()
		a.kill()
		b := w.podctl("agent", web)
		b.until("web", "stopped", stopped)
		if got := w.calls("RunPodSandbox"); len(got) != 1 {
			t.Errorf("started again: %v", got)
		}
		b.drain()
		w.empty()
	})
}

// A pod that waits for the one before it to end is stopped before it began.
func TestStopBeforePodStarts(t *testing.T) {
	for name, fix := range map[string]func(name, manifest string) string{
		"another uid": func(_, m string) string { return m }, "the same uid": fixUID,
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				before := fix("web", podYAML("web", "sleep 3600", "terminationGracePeriodSeconds: 10"))
				after := fix("web", podYAML("web", "sleep 7200", "terminationGracePeriodSeconds: 10"))
				p := w.podctl("agent", before)
				p.until("web", "running", running)
				begin := time.Now()
				p.want(after)
				time.Sleep(3 * time.Second)
				if err := p.Stop(t.Context(), "default", "web", nil); err != nil {
					t.Fatal(err)
				}
				if waited := time.Since(begin); waited < 10*time.Second {
					t.Errorf("Stop returned %v after the change: the older pod has 10s", waited)
				}
				p.until("web", "stopped", stopped)
				time.Sleep(time.Minute)
				p.kill()
				p = w.podctl("agent", after)
				time.Sleep(time.Minute)
				p.until("web", "stopped", stopped)
				if got := w.calls("StartContainer"); len(got) != 1 {
					t.Errorf("started %v", got)
				}
				p.drain()
				w.empty()
			})
		})
	}
}

// A job that has ended runs again when it is started.
func TestStartEndedPod(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := w.podctl("agent", podYAML("job", "exit 0", job))
		p.until("job", "finished", finished)
		if err := p.Start(t.Context(), "default", "job"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Second)
		p.until("job", "finished", finished)
		if got := w.calls("StartContainer"); !slices.Equal(got, []string{"StartContainer default/job/c", "StartContainer default/job/c"}) {
			t.Errorf("started %v, want twice", got)
		}
		if err := p.Stop(t.Context(), "default", "absent", nil); !errors.Is(err, ErrNoPod) {
			t.Errorf("stop of a pod that is not there: %v", err)
		}
		p.drain()
		w.empty()
	})
}

// A stop is of the pod that there is: another one that has its uid much later
// was not stopped.
func TestStopEndsWithItsPod(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		web := podYAML("web", "sleep 3600", "terminationGracePeriodSeconds: 10")
		p := w.podctl("agent", web)
		p.until("web", "running", running)
		p.want()
		time.Sleep(3 * time.Second)
		if err := p.Stop(t.Context(), "default", "web", nil); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		p.want(web)
		p.until("web", "running again", running)
		p.drain()
		w.empty()
	})
}
