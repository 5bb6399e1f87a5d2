package target

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/view"
)

// previous returns the attempt of a container that is its last termination, nil if there is
// none: of a container that waits to be started again the newest attempt, of another one the
// newest but for that which runs or has ended for good (validateContainerLogStatus in
// pkg/kubelet/kubelet_pods.go, with the status of pkg/kubelet/kuberuntime). Where no owner
// reports the pod's status, nothing will start the container again.
func previous(p *view.Pod, attempts []*pod.Container) *pod.Container {
	if !waits(p, attempts[0].Name) {
		attempts = attempts[1:]
	}
	if i := slices.IndexFunc(attempts, isExited); i >= 0 {
		return attempts[i]
	}
	return nil
}

func isExited(c *pod.Container) bool { return c.State == pod.Exited }

// waits reports whether the pod's status says that the container is to be started again.
func waits(p *view.Pod, name string) bool {
	if p.Object == nil {
		return false
	}
	all := pod.Statuses(&p.Object.Status)
	i := slices.IndexFunc(all, func(c v1.ContainerStatus) bool { return c.Name == name })
	return i >= 0 && all[i].State.Waiting != nil
}

// NeedsStatus reports whether it depends on the pod's status which attempt of the target's
// container is the previous one: the newest has exited, and the status is not known.
func NeedsStatus(t Target) bool {
	return t.Pod.Object == nil && t.Container != nil && isExited(Attempts(t.Pod, t.Container.Name)[0])
}

// PreviousNotFound returns the error for a container without a previous attempt.
func PreviousNotFound(p *view.Pod, newest *pod.Container) error {
	return &AttemptNotFoundError{Pod: p.DisplayName(), Container: newest.Name, Previous: true, Exited: isExited(newest)}
}
