package worker

import (
	"k8s.io/apimachinery/pkg/types"
)

// The queries about a pod by its UID have the kubelet's names
// (pkg/kubelet/pod_workers.go). docs/worker.md has the table of the formulas. For an
// unknown pod the answer changes with the first SyncKnownPods: before it the pod might
// be running, after it it cannot be.

// CouldHaveRunningContainers: containers may run, or be started.
func (w *Workers) CouldHaveRunningContainers(uid types.UID) bool {
	return w.query(uid, func(s State) bool { return s.Phase < Terminated }, func(synced bool) bool { return !synced })
}

// ShouldPodContainersBeTerminating: the stop request was picked up, so that
// nothing starts any more. For those who set things up in the background.
func (w *Workers) ShouldPodContainersBeTerminating(uid types.UID) bool {
	return w.query(uid, func(s State) bool { return s.TerminatingSeen }, onceSynced)
}

// ShouldPodRuntimeBeRemoved: no container runs, so that what only running
// containers need may go.
func (w *Workers) ShouldPodRuntimeBeRemoved(uid types.UID) bool {
	return w.query(uid, isTerminated, onceSynced)
}

// ShouldPodContentBeRemoved: the pod's directories may go.
func (w *Workers) ShouldPodContentBeRemoved(uid types.UID) bool {
	return w.query(uid, func(s State) bool { return s.Evicted || s.Deleted && isTerminated(s) }, onceSynced)
}

// ShouldPodBeFinished: the pod is stopped and cleaned up.
func (w *Workers) ShouldPodBeFinished(uid types.UID) bool {
	return w.query(uid, func(s State) bool { return s.Phase == Finished }, onceSynced)
}

// IsPodTerminationRequested: there was a stop request.
func (w *Workers) IsPodTerminationRequested(uid types.UID) bool {
	return w.query(uid, func(s State) bool { return s.Phase >= Terminating }, never)
}

// IsPodKnownTerminated: the pod is known, and nothing of it runs.
func (w *Workers) IsPodKnownTerminated(uid types.UID) bool {
	return w.query(uid, isTerminated, never)
}

// IsPodForMirrorPodTerminatingByFullName: a pod that holds this full name is
// being stopped.
func (w *Workers) IsPodForMirrorPodTerminatingByFullName(fullName string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, uid := range w.names.Holders(fullName) {
		if p, ok := w.pods[uid]; ok && p.state.Phase == Terminating {
			return true
		}
	}
	return false
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
