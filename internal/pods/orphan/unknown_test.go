package orphan

import (
	"testing"

	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/owners/kubelet"
	"github.com/podctl/podctl/internal/pod"
)

// A container of which the runtime does not know whether it runs may run: its pod has not
// ended, and --kill has something to stop.
func TestPodWithUnknownContainerMayBeRunning(t *testing.T) {
	for _, c := range []struct {
		state pod.State
		class Class
		runs  bool
	}{
		{pod.Exited, NotReady, false}, {pod.Created, NotReady, false}, {pod.Unknown, RuntimeOnly, true}, {pod.Running, RuntimeOnly, true},
	} {
		p := listed("web", "", pod.Exited, c.state)
		p.Sandboxes[0].Labels = nil
		found := Classify(factsOf([]*pod.Pod{p}, &owners.Answers{Kubelet: owners.Kubelet{Answer: kubelet.Answer{}}})).Orphans
		if len(found) != 1 || found[0].Class != c.class || found[0].Running() != c.runs {
			t.Errorf("%s: %+v, want class %s, running %v", c.state, found, c.class, c.runs)
		}
	}
}
