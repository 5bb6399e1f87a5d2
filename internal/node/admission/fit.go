package admission

import (
	"math"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/preempt"
)

const unexpected = preempt.UnexpectedAdmissionError

// Fit returns whether a pod fits on the node beside the active ones: the plan
// of those that have to be evicted first, nil if it fits now, or an error if it
// fits in no way. allocatable nil does not bound the node.
func Fit(p *v1.Pod, allocatable v1.ResourceList, active []*v1.Pod) (*preempt.Result, *Error) {
	if allocatable == nil {
		allocatable = unbounded(p)
	}
	d := preempt.Admit(p, place(allocatable, true), active) // strict groups are Policy.Check's
	switch {
	case !d.Admitted:
		return nil, &Error{Reason: d.Reason, Message: d.Message, HostPort: d.HostPort(), hint: fitHint(d)}
	case len(d.Plan.Victims) == 0:
		return nil, nil
	}
	return d.Plan, nil
}

// Fits reports whether the pod fits on the node now beside the pods that are counted. It
// takes the same time however many these are; where it is false, Fit says what to do.
func Fits(p *v1.Pod, allocatable v1.ResourceList, counted *preempt.Tally) bool {
	if allocatable == nil {
		allocatable = unbounded(p)
	}
	return counted.Fits(p, place(allocatable, true))
}

// Resize returns why a pod that runs cannot have what it asks for now beside the
// other active ones, nil if it can. No pod is evicted for it.
func Resize(p *v1.Pod, allocatable v1.ResourceList, others []*v1.Pod) *Error {
	if allocatable == nil {
		return nil
	}
	ordinary := p.DeepCopy()
	ordinary.Spec.Priority, ordinary.Spec.PriorityClassName = nil, "" // a critical pod would preempt
	_, refused := Fit(ordinary, allocatable, others)
	return refused
}

// place is this node as preempt knows nodes.
func place(allocatable v1.ResourceList, strictGroups bool) *v1.Node {
	return &v1.Node{
		Spec: v1.NodeSpec{Taints: []v1.Taint{}}, // known to have none
		Status: v1.NodeStatus{
			Allocatable: allocatable,
			Features:    &v1.NodeFeatures{SupplementalGroupsPolicy: &strictGroups},
		},
	}
}

// unbounded has as much as the pod asks for of everything that it names.
func unbounded(p *v1.Pod) v1.ResourceList {
	all := *resource.NewQuantity(math.MaxInt64/2000, resource.DecimalSI)
	list := v1.ResourceList{
		v1.ResourcePods: all, v1.ResourceCPU: all, v1.ResourceMemory: all, v1.ResourceEphemeralStorage: all,
	}
	for name := range pod.Requests(p) {
		list[name] = all
	}
	return list
}

// fitHint says what to do about a pod that does not fit.
func fitHint(d *preempt.Decision) string {
	if d.HostPort() != nil {
		return "change hostPort, or stop the other pod and run this one again, under an agent by podctl start: a pod that was rejected is not tried again by itself"
	}
	if detail := d.Detail(); detail != "" || d.Plan == nil {
		return detail
	}
	return "podctl preempt --dry-run -f FILE shows which pods use the node"
}
