package podsync

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
)

// Finish returns the final status: a container that was started and has not
// terminated is assumed to be lost and failed, and so is a pod without a
// terminal phase. Old is the status kept so far, nil for the one in the pod,
// which also shows whether the pod was initialized: it is the one that an API
// server holds (TerminatePod in pkg/kubelet/status/status_manager.go).
func Finish(p *v1.Pod, old *v1.PodStatus, now time.Time) v1.PodStatus {
	base := &p.Status
	if old != nil {
		base = old
	}
	s := base.DeepCopy()
	finish(p, s)
	if err := settle(p, old, s, now); err != nil {
		return *base.DeepCopy()
	}
	return *s
}

func finish(p *v1.Pod, s *v1.PodStatus) {
	if begun(p, &p.Status) {
		lose(s.ContainerStatuses)
	}
	lose(begunInit(s.InitContainerStatuses))
	if !pod.IsTerminal(s.Phase) && !pod.IsStatic(p) {
		s.Phase = v1.PodFailed
	}
}

// lose assumes all that have not terminated to be lost.
func lose(list []v1.ContainerStatus) {
	for i := range list {
		if list[i].State.Terminated == nil {
			list[i].State = v1.ContainerState{Terminated: lostState()}
		}
	}
}

// begun reports whether the regular containers were due to start. If not, they never
// ran and have not failed (hasPodInitialized).
func begun(p *v1.Pod, s *v1.PodStatus) bool {
	if len(p.Spec.InitContainers) == 0 {
		return true
	}
	for i := range s.ContainerStatuses {
		if cs := &s.ContainerStatuses[i]; cs.LastTerminationState.Terminated != nil || cs.State.Waiting == nil {
			return true
		}
	}
	n := len(s.InitContainerStatuses)
	if n == 0 || n > len(p.Spec.InitContainers) {
		return false
	}
	cs, c := &s.InitContainerStatuses[n-1], &p.Spec.InitContainers[n-1]
	switch {
	case cs.Name != c.Name:
		return false
	case pod.IsSidecar(c):
		return cs.State.Running != nil && cs.Started != nil && *cs.Started
	}
	return exitedZero(cs.State) || exitedZero(cs.LastTerminationState)
}

func exitedZero(st v1.ContainerState) bool {
	return st.Terminated != nil && st.Terminated.ExitCode == 0
}

// begunInit returns the init containers up to the last one that left the waiting state,
// at least the first (initializedContainers).
func begunInit(list []v1.ContainerStatus) []v1.ContainerStatus {
	for i := len(list) - 1; i >= 0; i-- {
		if cs := &list[i]; cs.State.Waiting == nil || cs.LastTerminationState.Terminated != nil {
			return list[:i+1]
		}
	}
	return list[:min(1, len(list))]
}
