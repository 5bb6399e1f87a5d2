package main

import (
	"context"
	"fmt"
	"maps"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podctl/podctl/internal/admission"
	"github.com/podctl/podctl/internal/kubelet"
	"github.com/podctl/podctl/internal/render"
)

// askKubelet makes allocatable what the kubelet that was named lets pods
// request, if that can be told, and warns if not.
func (f *fullNode) askKubelet(ctx context.Context, e *env, o preemptOptions, facts *render.Node) {
	if !o.askKubelet {
		return
	}
	if !o.kubelet.Local() {
		fmt.Fprintf(e.errw, "warning: what pods may request at %s is not known, this machine's is taken\n  hint: --allocatable says it, or --kubeconfig asks for the node object\n", o.kubelet.URL)
		return
	}
	r, err := o.kubelet.Reservation(ctx)
	if err != nil {
		fmt.Fprintf(e.errw, "warning: the kubelet's settings cannot be read, its defaults are taken: %v\n", err)
		return
	}
	f.node.Status.Allocatable, f.allocatable = kubeletAllocatable(facts, r, o.reserved), "kubelet "+o.kubelet.URL
}

// kubeletAllocatable is what a kubelet on this machine lets pods request, less
// reserved (pkg/kubelet/cm/node_container_manager_linux.go). Storage is that of
// podctl's own file system, and with the default threshold.
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
