package arrival

import (
	"context"
	"fmt"
	"maps"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podctl/podctl/internal/node/admission"
	"github.com/podctl/podctl/internal/node/host"
	"github.com/podctl/podctl/internal/node/render"
	"github.com/podctl/podctl/internal/owners/kubelet"
	"github.com/podctl/podctl/internal/sys/hint"
	"github.com/podctl/podctl/internal/sys/safeurl"
)

// readAllocatable makes allocatable what the kubelet lets pods request: the one
// that is named, else the one that uses the runtime, else one with the default
// configuration.
func (n *Node) readAllocatable(ctx context.Context, o Options) error {
	facts, err := host.ReadFacts(o.PodsDir, o.Logs, "")
	if err != nil {
		return err
	}
	n.Object.Status.Allocatable = admission.Allocatable(facts, nil, o.Reserved)
	if !o.Sources.AskKubelet && n.kubelet == nil {
		if o.named() && len(o.Reserved) == 0 && !o.namesAllocatable() {
			n.unchecked = append(n.unchecked, unknownReservation)
		}
		return nil
	}
	source, r, err := n.reservation(ctx, o)
	if err == nil {
		n.Object.Status.Allocatable, n.Allocatable = kubeletAllocatable(facts, r, o.Reserved), "kubelet "+source
		return nil
	}
	if !o.namesAllocatable() {
		return hint.Errorf("pass --allocatable cpu=4,memory=8Gi,pods=110, or --kubelet with the authenticated port and credentials, or --kubeconfig",
			"what is allocatable at kubelet %s is not known: %w", source, err)
	}
	n.Allocatable = "--allocatable"
	return nil
}

// namesAllocatable reports whether all that every node has is named as allocatable.
func (o Options) namesAllocatable() bool {
	for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory, v1.ResourcePods} {
		if _, given := o.Allocatable[name]; !given {
			return false
		}
	}
	return true
}

// unknownReservation is said where pods are named, and no kubelet uses the runtime, or
// none is seen.
const unknownReservation = "what a kubelet reserves: it is not known"

// reservation reads what the kubelet reserves: its /configz, which only its
// authenticated server has, else its configuration file.
func (n *Node) reservation(ctx context.Context, o Options) (source string, r *kubelet.Reservation, err error) {
	if o.Sources.AskKubelet {
		at := o.Sources.Kubelet
		if !at.Local() {
			return safeurl.Text(at.Address()), nil, fmt.Errorf("the capacity of its machine is not known")
		}
		if r, err = at.Reservation(ctx); err == nil {
			return safeurl.Text(at.Address()), r, nil
		}
		source = safeurl.Text(at.Address())
	}
	if n.kubelet != nil {
		r, err = n.kubelet.Reservation(ctx)
		return n.kubelet.Server(), r, err
	}
	return source, nil, err
}

// kubeletAllocatable is what a kubelet on this machine lets pods request, less
// reserved (pkg/kubelet/cm/node_container_manager_linux.go). Storage is that of
// podctl's own file system, with the default threshold.
func kubeletAllocatable(facts *render.Node, r *kubelet.Reservation, reserved v1.ResourceList) v1.ResourceList {
	memory := facts.MemoryCapacity - r.Eviction("memory.available", facts.MemoryCapacity)
	for _, pages := range facts.HugePages {
		memory -= pages.Value()
	}
	cpus := facts.Allocatable[v1.ResourceCPU]
	off := r.Reserved()
	for name, q := range reserved {
		sum := off[name]
		sum.Add(q)
		off[name] = sum
	}
	maps.DeleteFunc(off, func(name v1.ResourceName, _ resource.Quantity) bool { return name == "pid" })
	return admission.Allocatable(facts, v1.ResourceList{
		v1.ResourcePods:   *resource.NewQuantity(r.Pods(cpus.Value()), resource.DecimalSI),
		v1.ResourceMemory: *resource.NewQuantity(memory, resource.BinarySI),
	}, off)
}
