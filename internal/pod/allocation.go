package pod

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
)

// Allocation is what the containers of a pod, and the pod as a whole, may use of
// their node. A pod whose manifest asks for other resources keeps its allocation
// until the node has room for them (pkg/kubelet/allocation/state).
type Allocation struct {
	Pod *v1.ResourceRequirements `json:"pod,omitempty"`
	// Containers are the init and regular containers, by name.
	Containers map[string]v1.ResourceRequirements `json:"containers,omitempty"`
}

// AllocationOf returns what the pod asks for.
func AllocationOf(p *v1.Pod) *Allocation {
	a := &Allocation{Pod: p.Spec.Resources.DeepCopy(), Containers: map[string]v1.ResourceRequirements{}}
	for c := range Containers(p) {
		a.Containers[c.Name] = *c.Resources.DeepCopy()
	}
	return a
}

// Apply returns the pod with these resources: the pod itself where it asks for
// just them, or a is nil.
func (a *Allocation) Apply(p *v1.Pod) *v1.Pod {
	if a == nil {
		return p
	}
	same := equality.Semantic.DeepEqual(p.Spec.Resources, a.Pod)
	for c := range Containers(p) {
		if r, ok := a.Containers[c.Name]; ok && !equality.Semantic.DeepEqual(c.Resources, r) {
			same = false
		}
	}
	if same {
		return p
	}
	p = p.DeepCopy()
	p.Spec.Resources = a.Pod.DeepCopy()
	for c := range Containers(p) {
		if r, ok := a.Containers[c.Name]; ok {
			c.Resources = *r.DeepCopy()
		}
	}
	return p
}
