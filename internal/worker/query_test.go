package worker

import "k8s.io/apimachinery/pkg/types"

// The kubelet's questions that nobody asks but the tests.

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

// ShouldPodBeFinished: the pod is stopped and cleaned up.
func (w *Workers) ShouldPodBeFinished(uid types.UID) bool {
	return w.query(uid, func(s State) bool { return s.Phase == Finished }, onceSynced)
}
