package arrival

import (
	"maps"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podctl/podctl/internal/admission"
	"github.com/podctl/podctl/internal/kubelet"
	"github.com/podctl/podctl/internal/render"
)

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
