package node

import (
	"strings"
	"testing"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// silence makes the runtime answer nothing about single sandboxes: also not
// what manifest they carry.
func (w *world) silence() (release func()) {
	return w.sim.Inject(`method=PodSandboxStatus error=Unavailable message="come back later"`)
}

// A manifest that cannot be read now is no manifest that is not there.
func TestUnreadableOlderPodKeepsItsGrace(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a := w.podctl("run-a", podYAML("web", "sleep 3600", "terminationGracePeriodSeconds: 20"))
		a.until("web", "running", running)
		a.kill()
		release := w.silence()
		b := w.podctl("run-b", podYAML("web", "sleep 7200", "terminationGracePeriodSeconds: 1"))
		time.Sleep(5 * time.Second)
		if got := w.calls("StopContainer", "RunPodSandbox"); len(got) != 1 {
			t.Errorf("calls: %v", got)
		}
		release()
		b.until("web", "replaced", running)
		for _, c := range w.sim.Calls("StopContainer") {
			if grace := c.Request.(*runtimeapi.StopContainerRequest).Timeout; grace != 20 {
				t.Errorf("it was given %ds", grace)
			}
		}
		b.drain()
		w.empty()
	})
}

func TestPodWithFixedUIDIsReadBeforeAdoption(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a := w.podctl("run-a", fixUID("web", podYAML("web", "sleep 3600", "terminationGracePeriodSeconds: 2")))
		a.until("web", "running", running)
		a.kill()
		release := w.silence()
		b := w.podctl("run-b", fixUID("web", podYAML("web", "sleep 7200", "terminationGracePeriodSeconds: 2")))
		time.Sleep(5 * time.Second)
		release()
		b.until("web", "replaced", running)
		if got := w.calls("RunPodSandbox"); len(got) != 2 {
			t.Errorf("calls: %v", got)
		}
		b.drain()
		w.empty()
	})
}

// Of two manifests that fix one uid under two names, the one whose podctl
// lives has it.
func TestUIDOfLivePodctlIsLeftAlone(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a := w.podctl("run-a", fixUID("web", podYAML("web", "sleep 3600", "terminationGracePeriodSeconds: 1")))
		a.until("web", "running", running)
		b := w.podctl("run-b", fixUID("api", podYAML("api", "sleep 3600")))
		i := b.until("api", "rejected", func(i Info) bool { return i.Rejected != nil })
		if !strings.Contains(i.Rejected.Error(), "run-a") {
			t.Errorf("the owner is not named: %v", i.Rejected)
		}
		b.drain()
		a.until("web", "running on", running)
		a.drain()
		w.empty()
	})
}
