package worker

import (
	"k8s.io/apimachinery/pkg/types"
)

// The queries about a pod by its UID have the kubelet's names
// (pkg/kubelet/pod_workers.go). docs/worker.md has the table of the formulas. For an
// unknown pod the answer changes with the first SyncKnownPods: before it the pod might
// be running, after it it cannot be.

// ShouldPodContentBeRemoved: the pod's directories may go.
func (w *Workers) ShouldPodContentBeRemoved(uid types.UID) bool {
	return w.query(uid, func(s State) bool { return s.Evicted || s.Deleted && isTerminated(s) }, onceSynced)
}

// IsPodTerminationRequested: there was a stop request.
func (w *Workers) IsPodTerminationRequested(uid types.UID) bool {
	return w.query(uid, func(s State) bool { return s.Phase >= Terminating }, never)
}

// IsPodKnownTerminated: the pod is known, and nothing of it runs.
func (w *Workers) IsPodKnownTerminated(uid types.UID) bool {
	return w.query(uid, isTerminated, never)
}

// IsPodKnown reports whether the worker remembers the UID.
func (w *Workers) IsPodKnown(uid types.UID) bool {
	return w.query(uid, func(State) bool { return true }, never)
}

// query answers from the pod's state, or for an unknown pod from whether the workers have
// synced.
func (w *Workers) query(uid types.UID, known func(State) bool, unknown func(synced bool) bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if p, ok := w.pods[uid]; ok {
		return known(p.state)
	}
	return unknown(w.synced)
}

func isTerminated(s State) bool { return s.Phase >= Terminated }

func onceSynced(synced bool) bool { return synced }

func never(bool) bool { return false }
