package pod

import (
	"slices"

	v1 "k8s.io/api/core/v1"
)

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
