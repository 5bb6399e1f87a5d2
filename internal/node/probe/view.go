package probe

import (
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
)

// viewOf returns what the pod's status says of one of its containers.
func viewOf(s *v1.PodStatus, container string) View {
	v := View{PodEnded: pod.IsTerminal(s.Phase)}
	cs := statusOf(s, container)
	if cs == nil {
		return v
	}
	_, v.ID, _ = strings.Cut(cs.ContainerID, "://")
	v.Started = cs.Started != nil && *cs.Started
	v.Exited = cs.State.Terminated != nil
	if cs.State.Running != nil {
		// Whole seconds, as the API has them: the initial delay counts from there.
		v.Running, v.StartedAt = true, cs.State.Running.StartedAt.Truncate(time.Second)
	}
	return v
}

// statusOf returns the status of a container that was made, nil without one.
func statusOf(s *v1.PodStatus, container string) *v1.ContainerStatus {
	for _, list := range [...][]v1.ContainerStatus{s.ContainerStatuses, s.InitContainerStatuses} {
		for i := range list {
			if list[i].Name == container && list[i].ContainerID != "" {
				return &list[i]
			}
		}
	}
	return nil
}
