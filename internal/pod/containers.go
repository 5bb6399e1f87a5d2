package pod

import (
	"iter"

	v1 "k8s.io/api/core/v1"
)

// AllContainers goes through Containers, and then the pod's ephemeral containers
// (VisitContainers in pkg/api/v1/pod/util.go).
func AllContainers(p *v1.Pod) iter.Seq[*v1.Container] {
	return func(yield func(*v1.Container) bool) {
		for c := range Containers(p) {
			if !yield(c) {
				return
			}
		}
		for i := range p.Spec.EphemeralContainers {
			if !yield(Ephemeral(&p.Spec.EphemeralContainers[i])) {
				return
			}
		}
	}
}

// Ephemeral returns an ephemeral container as a container: the two types have the same
// fields, but for the target.
func Ephemeral(c *v1.EphemeralContainer) *v1.Container {
	return (*v1.Container)(&c.EphemeralContainerCommon)
}

// ContainerNamed returns the spec of the pod's container of a name, nil if there is none.
func ContainerNamed(p *v1.Pod, name string) *v1.Container {
	for c := range AllContainers(p) {
		if c.Name == name {
			return c
		}
	}
	return nil
}

// Containers goes through the pod's init containers and then its containers,
// each in the order of the spec.
func Containers(p *v1.Pod) iter.Seq[*v1.Container] {
	return func(yield func(*v1.Container) bool) {
		for _, list := range [...][]v1.Container{p.Spec.InitContainers, p.Spec.Containers} {
			for i := range list {
				if !yield(&list[i]) {
					return
				}
			}
		}
	}
}
