package node

import (
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/worker"
)

// active are the pods that hold what they request: the desired ones but those
// that are down or have ended by themselves (GetActivePods in
// pkg/kubelet/kubelet_pods.go). What is not desired any more is leaving: else
// no pod could take the place of an older one on a full node. t.mu is held.
func (t *podTable) active() []*v1.Pod {
	return slices.DeleteFunc(t.accounted.Pods(), func(p *v1.Pod) bool { return t.nothingRuns(t.entries[p.UID]) })
}

// accountResources counts the pod among those that hold what they request, or no longer. Of one
// that has ended the worker may know more than its entry. t.mu is held.
func (t *podTable) accountResources(uid types.UID) {
	e := t.entries[uid]
	if e == nil || !e.hasWorker() || !e.IsDesired() || e.hasEnded() {
		t.accounted.Drop(uid)
		return
	}
	t.accounted.Set(e.allocated())
}

// nothingRuns reports whether nothing of a pod runs any more. What the entry says of the
// phase may lag behind. t.mu is held.
func (t *podTable) nothingRuns(e *entry) bool {
	return e.hasEnded() || t.workers.IsPodKnownTerminated(e.UID()) ||
		e.Leaving() && !t.workers.IsPodKnown(e.UID()) // its leftovers are removed
}

// hasEnded reports whether nothing of the pod runs any more, as its entry knows.
func (e *entry) hasEnded() bool {
	return e.stage == worker.Finished || e.stoppedBefore || pod.IsTerminal(e.status.Phase) && e.stage == worker.Syncing
}
