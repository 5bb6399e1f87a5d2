package pod

import (
	"iter"

	v1 "k8s.io/api/core/v1"
)

// Containers goes through the pod's init containers and then its containers,
// each in the order of the spec (VisitContainers in pkg/api/v1/pod/util.go).
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
