package node

import (
	"testing"
	"time"
)

// A runtime that does not get a container stopped is told to use force, and
// then the sandbox takes the container with it.
func TestHangingStopContainerIsAbandoned(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := w.podctl("run-a", podYAML("web", "sleep 3600", "terminationGracePeriodSeconds: 5"))
		p.until("web", "running", running)
		defer w.sim.Inject("method=StopContainer hang")()
		w.sim.ClearCalls()
		began := time.Now()
		p.drain()
		if took := time.Since(began); took > 15*time.Minute {
			t.Errorf("took %s", took)
		}
		got := w.calls("StopContainer", "StopPodSandbox")
		if len(got) < 3 || got[0] != "StopContainer default/web/c" || got[1] != got[0] || got[2] != "StopPodSandbox default/web" {
			t.Errorf("calls: %v", got)
		}
		w.empty()
	})
}
