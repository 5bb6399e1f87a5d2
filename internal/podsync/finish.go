package podsync

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
)

// finish makes a status final: whatever did not end, of what was begun, is
// taken as lost and failed, and so is a pod without a terminal phase
// (TerminatePod in pkg/kubelet/status/status_manager.go).
func finish(p *v1.Pod, s *v1.PodStatus) {
	if begun(p, s) {
		for i := range s.ContainerStatuses {
			if cs := &s.ContainerStatuses[i]; cs.State.Terminated == nil {
				cs.State = v1.ContainerState{Terminated: lost()}
			}
		}
	}
	for i := range begunInit(s.InitContainerStatuses) {
		if cs := &s.InitContainerStatuses[i]; cs.State.Terminated == nil {
			cs.State = v1.ContainerState{Terminated: lost()}
		}
	}
	if !pod.IsTerminal(s.Phase) && !pod.IsStatic(p) {
		s.Phase = v1.PodFailed
	}
}

// begun tells whether the regular containers were to start: without evidence
// of that they never ran, and have not failed.
func begun(p *v1.Pod, s *v1.PodStatus) bool {
	if len(p.Spec.InitContainers) == 0 {
		return true
	}
	for i := range s.ContainerStatuses {
		if cs := &s.ContainerStatuses[i]; cs.LastTerminationState.Terminated != nil || cs.State.Waiting == nil {
			return true
		}
	}
	last := &p.Spec.InitContainers[len(p.Spec.InitContainers)-1]
	cs := find(s.InitContainerStatuses, last.Name)
	if cs == nil {
		return false
	}
	if pod.IsSidecar(last) {
		return cs.State.Running != nil && cs.Started != nil && *cs.Started
	}
	return exitedZero(cs.State) || exitedZero(cs.LastTerminationState)
}

func exitedZero(st v1.ContainerState) bool {
	return st.Terminated != nil && st.Terminated.ExitCode == 0
}

// begunInit are the init containers up to the last that ever left the waiting
// state, and the first in any case.
func begunInit(list []v1.ContainerStatus) []v1.ContainerStatus {
	for i := len(list) - 1; i >= 0; i-- {
		if cs := &list[i]; cs.State.Waiting == nil || cs.LastTerminationState.Terminated != nil {
			return list[:i+1]
		}
	}
	return list[:min(1, len(list))]
}
