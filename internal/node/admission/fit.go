package admission

import (
	"fmt"
	"maps"
	"math"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podctl/podctl/internal/node/render"
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

// maxPods is how many pods a kubelet runs unless it is told otherwise.
const maxPods = 110

// Allocatable returns what all pods of a node together may request: what this
// machine has, less what a kubelet with default settings reserves: its cpus,
// memory without huge pages, local storage, huge pages, and 110 pods. What
// capacity names replaces that, to the last byte; what reserved names is
// subtracted (pkg/kubelet/cm/node_container_manager_linux.go,
// pkg/kubelet/nodestatus/setters.go).
func Allocatable(facts *render.Node, capacity, reserved v1.ResourceList) v1.ResourceList {
	list := v1.ResourceList{v1.ResourcePods: *resource.NewQuantity(maxPods, resource.DecimalSI)}
	maps.Copy(list, facts.Allocatable)
	for name, pages := range facts.HugePages {
		list[name] = pages
		memory := list[v1.ResourceMemory]
		memory.Sub(pages)
		list[v1.ResourceMemory] = memory
	}
	maps.Copy(list, capacity)
	for name, q := range reserved {
		left := list[name]
		left.Sub(q)
		list[name] = left
	}
	for name, q := range list {
		if pod.Count(name, q) < 0 {
			list[name] = resource.Quantity{Format: q.Format}
		}
	}
	return list
}

// NoDevices returns the error of a pod that asks for devices which the runtime does
// not give. Unlike a kubelet's, its containers do not start without them.
func NoDevices(why string) *Error {
	return &Error{
		Reason: "CDINotSupported", Message: why,
		hint: "containerd gives devices from 2.0 on, and from 1.7.2 on with enable_cdi = true; CRI-O from 1.28 on",
	}
}

// TooFewDevices returns the error of a pod that asks for more devices of a kind than
// this machine has, in the words of the kubelet's device manager
// (pkg/kubelet/cm/admission/errors.go).
func TooFewDevices(shortage error, directories []string) *Error {
	return &Error{
		Reason: unexpected, Message: fmt.Sprintf("Allocate failed due to %v, which is unexpected", shortage),
		hint: "devices are those of the CDI specifications in " + strings.Join(directories, ", "),
	}
}
