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

// NotStarted returns the statuses of containers that wait for another reason than
// that they have not been created yet.
func NotStarted(s *v1.PodStatus) []v1.ContainerStatus {
	return slices.DeleteFunc(Statuses(s), func(c v1.ContainerStatus) bool {
		w := c.State.Waiting
		return w == nil || w.Reason == "" || w.Reason == "ContainerCreating" || w.Reason == "PodInitializing"
	})
}

// Statuses returns the statuses of a pod's containers, init containers first.
func Statuses(s *v1.PodStatus) []v1.ContainerStatus {
	return slices.Concat(s.InitContainerStatuses, s.ContainerStatuses)
}
