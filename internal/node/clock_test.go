package node

import (
	"testing"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// live are the running containers and ready sandboxes.
func (w *world) live() (containers, sandboxes int) {
	w.t.Helper()
	c, err := w.sim.ListContainers(w.t.Context(), &runtimeapi.ListContainersRequest{})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, c := range c.Containers {
		if c.State == runtimeapi.ContainerState_CONTAINER_RUNNING {
			containers++
		}
	}
	for _, s := range w.sandboxes() {
		if isReadySandbox(s) {
			sandboxes++
		}
	}
	return containers, sandboxes
}

func (w *world) sandboxes() []*runtimeapi.PodSandbox {
	w.t.Helper()
	s, err := w.sim.ListPodSandbox(w.t.Context(), &runtimeapi.ListPodSandboxRequest{})
	if err != nil {
		w.t.Fatal(err)
	}
	return s.Items
}

// What was made after the clock was set back is dated before what it follows;
// it is the newest all the same: nothing is started beside it, and nothing in
// its place.
func TestClockSetBack(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := w.podctl("agent", podYAML("web", "sleep 100; exit 1"))
		p.until("web", "running", running)
		w.setBy.Store(-int64(time.Hour))
		watch := func(d time.Duration) {
			t.Helper()
			for range d / time.Second {
				time.Sleep(time.Second)
				if c, s := w.live(); c > 1 || s > 1 {
					t.Fatalf("%d containers and %d sandboxes run: %v", c, s, w.calls())
				}
			}
		}
		watch(10 * time.Minute)
		restarts := len(w.calls("StartContainer"))
		if restarts < 4 || restarts > 7 {
			t.Errorf("started %d times in ten minutes, 100 s each", restarts)
		}
		w.setBy.Add(-int64(time.Hour))
		w.sim.KillSandbox(w.sandboxes()[0].Id)
		watch(10 * time.Minute)
		if made := w.calls("RunPodSandbox"); len(made) != 2 {
			t.Errorf("%d sandboxes were made, one died: %v", len(made), made)
		}
		p.drain()
		w.empty()
	})
}
