package node

import (
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
)

func debugContainer(name string) v1.EphemeralContainer {
	return v1.EphemeralContainer{
		EphemeralContainerCommon: v1.EphemeralContainerCommon{Name: name, Image: "busybox:1", Command: []string{"sleep", "3600"}}, TargetContainerName: "c",
	}
}

func debugged(i Info) bool {
	s := i.Status.EphemeralContainerStatuses
	return running(i) && len(s) == 1 && s[0].State.Running != nil
}

// A container that podctl debug added is the pod's own: it runs beside the others,
// stays when the manifest changes in place or podctl is replaced, and ends with the pod.
func TestDebugAddsContainerToRunningPod(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := w.podctl("agent", labelled("one"))
		p.until("web", "running", running)
		if err := p.Debug("default", "web", debugContainer("c")); err == nil || !strings.Contains(err.Error(), "Duplicate") {
			t.Errorf("a name that is taken: %v", err)
		}
		if err := p.Debug("default", "absent", debugContainer("d")); err == nil {
			t.Error("a pod that is not there was debugged")
		}
		w.sim.ClearCalls()
		if err := p.Debug("default", "web", debugContainer("d")); err != nil {
			t.Fatal(err)
		}
		i := p.until("web", "debugged", debugged)
		if len(i.Pod.Spec.EphemeralContainers) != 1 {
			t.Errorf("the pod is shown without it: %+v", i.Pod.Spec)
		}
		p.want(labelled("two"))
		p.until("web", "relabelled", func(i Info) bool { return debugged(i) && i.Pod.Labels["v"] == "two" })
		p.kill()
		p = w.podctl("agent", labelled("two"))
		p.until("web", "adopted", func(i Info) bool { return i.Adopted && debugged(i) })
		time.Sleep(time.Minute)
		if got, want := w.calls("RunPodSandbox", "StartContainer", "StopContainer"), []string{"StartContainer default/web/d"}; !slices.Equal(got, want) {
			t.Errorf("calls %v, want %v", got, want)
		}
		p.drain()
		w.empty()
	})
}
