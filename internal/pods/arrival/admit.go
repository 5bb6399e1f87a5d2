package arrival

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/preempt"
)

// Arrival is a pod that arrived at the node, and the decision about it.
type Arrival struct {
	Pod               preempt.PodRef `json:"pod"`
	*preempt.Decision `json:",inline"`
}

// Admit lets pods arrive one after the other: each finds the pods that were
// admitted before it, and not the victims of those. Pure.
func (n *Node) Admit(pods []*v1.Pod) []Arrival {
	var all []Arrival
	on := n.Pods
	for _, p := range pods {
		d := preempt.Admit(p, n.Object, on)
		d.Unchecked = append(d.Unchecked, n.unchecked...)
		all = append(all, Arrival{Pod: preempt.PodRef{Namespace: p.Namespace, Name: p.Name, UID: p.UID}, Decision: d})
		if d.Admitted {
			on = append(d.Plan.Survivors(without(on, p)), p)
		}
	}
	return all
}

// without returns the pods except the one itself, which may be on the node.
func without(pods []*v1.Pod, p *v1.Pod) []*v1.Pod {
	var others []*v1.Pod
	for _, q := range pods {
		if q.UID != p.UID && pod.FullNameOf(q) != pod.FullNameOf(p) {
			others = append(others, q)
		}
	}
	return others
}
