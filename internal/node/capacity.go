package node

import (
	"maps"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/render"
)

// maxPods is how many pods a kubelet runs unless it is told otherwise.
const maxPods = 110

// Allocatable is what all pods of a node together may request. It is what this
// machine has, less what a kubelet with default settings keeps back: its cpus,
// memory without huge pages, local storage, huge pages, and 110 pods. What
// capacity names counts instead, to the last byte; what reserved names goes
// off (pkg/kubelet/cm/node_container_manager_linux.go,
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

// Allocatable is what all pods of the node together may request; nil if they
// are not bounded.
func (n *Node) Allocatable() v1.ResourceList { return n.opts.Allocatable }

// Name is the node's name.
func (n *Node) Name() string { return n.opts.Facts.Name }
