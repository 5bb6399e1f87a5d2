package target

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/view"
)

// containerNames returns the names of a pod's containers in the runtime: first those of its
// spec in the spec's order, init and ephemeral containers after the others; then those whose
// spec is not known, running ones first, from the oldest, then exited ones, from the newest,
// because init containers are the oldest.
func containerNames(p *view.Pod) []string {
	var unordered []string
	for _, c := range slices.Backward(p.ListedContainers()) { // oldest first
		if !slices.Contains(unordered, c.Name) {
			unordered = append(unordered, c.Name)
		}
	}
	var names []string
	for _, name := range specNames(p) {
		if slices.Contains(unordered, name) {
			names = append(names, name)
		}
	}
	var exited []string
	for _, name := range unordered {
		switch {
		case slices.Contains(names, name):
		case Attempts(p, name)[0].State == pod.Running:
			names = append(names, name)
		default:
			exited = append(exited, name)
		}
	}
	slices.Reverse(exited)
	return append(names, exited...)
}

func specNames(p *view.Pod) []string {
	if p.Object == nil {
		return nil
	}
	var names []string
	for _, c := range p.Object.Spec.Containers {
		names = append(names, c.Name)
	}
	for _, c := range p.Object.Spec.InitContainers {
		names = append(names, c.Name)
	}
	for _, c := range p.Object.Spec.EphemeralContainers {
		names = append(names, c.Name)
	}
	return names
}

// needsSpec reports whether the default container depends on the pod's spec and the spec is
// not known: Object is nil.
func needsSpec(t Target) bool { return len(t.DefaultedFrom) > 0 && t.Pod.Object == nil }

// defaultContainer returns one of the names, and whether an annotation names it.
func defaultContainer(p *view.Pod, names []string) (name string, byAnnotation bool) {
	annotated := p.Runtime.DefaultContainer()
	if p.Object != nil && p.Object.Annotations[pod.DefaultContainerAnnotation] != "" {
		annotated = p.Object.Annotations[pod.DefaultContainerAnnotation]
	}
	if slices.Contains(names, annotated) {
		return annotated, true
	}
	return names[0], false
}

func hasContainer(p *view.Pod, word string, matches matcher) bool {
	return slices.ContainsFunc(containerNames(p), func(name string) bool { return matches(word, name) })
}

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

// needsStatus reports whether it depends on the pod's status which attempt of the target's
// container is the previous one: the newest has exited, and the status is not known.
func needsStatus(t Target) bool {
	return t.Pod.Object == nil && t.Container != nil && isExited(Attempts(t.Pod, t.Container.Name)[0])
}

// previousNotFound returns the error for a container without a previous attempt.
func previousNotFound(p *view.Pod, newest *pod.Container) error {
	return &AttemptNotFoundError{Pod: p.DisplayName(), Container: newest.Name, Previous: true, Exited: isExited(newest)}
}
