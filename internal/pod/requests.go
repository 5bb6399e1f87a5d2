package pod

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"
)

// The kubelet counts what a pod requests in three ways, which differ in
// overhead, in pods that were resized, and in pods with pod-level resources.

// Requests returns what the pod must find free on a node to be admitted: its
// containers and sidecars together, or an init container that needs more, or
// what the pod itself asks for; with overhead (pkg/scheduler/framework/plugins/noderesources/fit.go).
func Requests(p *v1.Pod) v1.ResourceList {
	return resourcehelper.PodRequests(p, resourcehelper.PodResourcesOptions{})
}

// Held returns what an admitted pod occupies on its node: as Requests, but no less
// than what its status says it has while it is being resized
// (pkg/scheduler/framework/types.go).
func Held(p *v1.Pod) v1.ResourceList {
	return resourcehelper.PodRequests(p, resourcehelper.PodResourcesOptions{
		UseStatusResources: true,
		InPlacePodLevelResourcesVerticalScalingEnabled: true,
	})
}

// Freed returns what the kubelet reckons to gain by evicting the pod
// (pkg/api/v1/resource/helpers.go). It is not always what the pod held:
// overhead counts only on top of a request that is not zero, and of a pod
// with pod-level resources nothing else counts. One of "pods" is always in it.
func Freed(p *v1.Pod) v1.ResourceList {
	freed := resourcehelper.PodRequests(p, resourcehelper.PodResourcesOptions{
		ExcludeOverhead:             true,
		SkipContainerLevelResources: resourcehelper.IsPodLevelResourcesSet(p),
	})
	for name, overhead := range p.Spec.Overhead {
		if q, ok := freed[name]; ok && !q.IsZero() {
			q.Add(overhead)
			freed[name] = q
		}
	}
	freed[v1.ResourcePods] = *resource.NewQuantity(1, resource.DecimalSI)
	return freed
}

// Count returns the quantity as a node's arithmetic has it: thousandths of cpu,
// whole units of everything else, both rounded up.
func Count(name v1.ResourceName, q resource.Quantity) int64 {
	if name == v1.ResourceCPU {
		return q.MilliValue()
	}
	return q.Value()
}

// Resources returns what the pod as a whole has: its own requests and limits, and
// for what it does not name the sum over its containers
// (getEffectiveAllocatedResources in pkg/kubelet/kubelet_pods.go).
func Resources(p *v1.Pod) *v1.ResourceRequirements {
	r := p.Spec.Resources.DeepCopy()
	if r == nil {
		r = &v1.ResourceRequirements{}
	}
	r.Requests = Requests(p)
	r.Limits = resourcehelper.PodLimits(p, resourcehelper.PodResourcesOptions{})
	return r
}

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
