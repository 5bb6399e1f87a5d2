package admission

import (
	"maps"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podctl/podctl/internal/node/render"
	"github.com/podctl/podctl/internal/pod"
)

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
