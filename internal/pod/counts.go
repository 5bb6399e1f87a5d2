package pod

import (
	"slices"

	v1 "k8s.io/api/core/v1"
)

// CountReady counts containers as kubectl's READY column does: regular
// containers and sidecars.
func CountReady(s *v1.PodStatus, p *v1.Pod) (ready, total int) {
	total = len(p.Spec.Containers)
	for i := range p.Spec.InitContainers {
		c := &p.Spec.InitContainers[i]
		if !IsSidecar(c) {
			continue
		}
		total++
		for _, cs := range s.InitContainerStatuses {
			if cs.Name == c.Name && cs.Ready {
				ready++
			}
		}
	}
	for _, cs := range s.ContainerStatuses {
		if cs.Ready {
			ready++
		}
	}
	return ready, total
}

// CountRestarts returns how often the containers of a pod were restarted.
func CountRestarts(s *v1.PodStatus) (n int32) {
	for _, c := range Statuses(s) {
		n += c.RestartCount
	}
	return n
}

// Statuses returns the statuses of a pod's containers, init containers first.
func Statuses(s *v1.PodStatus) []v1.ContainerStatus {
	return slices.Concat(s.InitContainerStatuses, s.ContainerStatuses)
}
