package podsync

import v1 "k8s.io/api/core/v1"

// maxMessages is how many bytes the termination messages of a pod may have,
// shared equally by its containers (normalizeStatus in
// pkg/kubelet/status/status_manager.go).
const maxMessages = 12 << 10

// boundMessages cuts each termination message to its container's share.
func boundMessages(s *v1.PodStatus, p *v1.Pod) {
	n := len(p.Spec.InitContainers) + len(p.Spec.Containers)
	if n == 0 {
		return
	}
	share := maxMessages / n
	for _, list := range [][]v1.ContainerStatus{s.InitContainerStatuses, s.ContainerStatuses} {
		for i := range list {
			for _, end := range []*v1.ContainerStateTerminated{list[i].State.Terminated, list[i].LastTerminationState.Terminated} {
				if end != nil && len(end.Message) > share {
					end.Message = end.Message[:share]
				}
			}
		}
	}
}
