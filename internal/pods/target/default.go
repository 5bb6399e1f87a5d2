package target

import (
	"slices"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/view"
)

// containerNames returns the names of a pod's containers in the runtime: first those of its
// spec in the spec's order, init and ephemeral containers after the others; then those whose
// spec is not known, running ones first, from the oldest, then exited ones, from the newest,
// because init containers are the oldest.
func containerNames(p *view.Pod) []string {
	if p.Runtime == nil {
		return nil
	}
	var unordered []string
	for _, c := range slices.Backward(p.Runtime.Containers) { // oldest first
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

// NeedsSpec reports whether the default container depends on the pod's spec and the spec is
// not known: Object is nil.
func NeedsSpec(t Target) bool { return len(t.DefaultedFrom) > 0 && t.Pod.Object == nil }

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
