package preempt

import (
	"encoding/json"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podctl/podctl/internal/pod"
)

// Usage is a node's account of one resource when a pod asks for some of it.
// All counts are as pod.Count has them.
type Usage struct {
	Resource    v1.ResourceName
	Allocatable int64
	// Used is held by the other pods.
	Used int64
	// Requested is asked for by the pod.
	Requested int64
}

// MarshalJSON writes {"resource":"cpu","allocatable":"4","used":…,"requested":…,"short":…}.
func (u Usage) MarshalJSON() ([]byte, error) {
	quantity := func(count int64) *resource.Quantity { return Amount{u.Resource, count}.Quantity() }
	return json.Marshal(struct {
		Resource    v1.ResourceName    `json:"resource"`
		Allocatable *resource.Quantity `json:"allocatable"`
		Used        *resource.Quantity `json:"used"`
		Requested   *resource.Quantity `json:"requested"`
		Short       *resource.Quantity `json:"short"`
	}{u.Resource, quantity(u.Allocatable), quantity(u.Used), quantity(u.Requested), quantity(u.Short())})
}

// Short is how much is missing, 0 if the pod fits. A pod that asks for
// nothing fits on a node that is overcommitted.
func (u Usage) Short() int64 {
	if u.Requested <= 0 {
		return 0
	}
	return max(0, u.Requested-(u.Allocatable-u.Used))
}

// usage draws up the accounts in the order in which the kubelet looks at them:
// pods, cpu, memory, ephemeral-storage, and the scalar resources that the node
// has or the pod asks for (pkg/scheduler/framework/plugins/noderesources/fit.go).
func usage(p *v1.Pod, allocatable v1.ResourceList, others load) []Usage {
	a := accounts{at: map[v1.ResourceName]int{}}
	for _, name := range []v1.ResourceName{v1.ResourcePods, v1.ResourceCPU, v1.ResourceMemory, v1.ResourceEphemeralStorage} {
		a.open(name)
	}
	requests := pod.Requests(p)
	var scalars []v1.ResourceName
	for _, l := range []v1.ResourceList{allocatable, requests} {
		for name := range l {
			if _, opened := a.at[name]; !opened && scalar(name) {
				scalars = append(scalars, name)
			}
		}
	}
	slices.Sort(scalars)
	for _, name := range slices.Compact(scalars) {
		a.open(name)
	}
	a.add(allocatable, func(u *Usage) *int64 { return &u.Allocatable })
	a.add(requests, func(u *Usage) *int64 { return &u.Requested })
	for i := range a.list {
		a.list[i].Used = others.used[a.list[i].Resource]
	}
	// Pods count as pods, whatever they write into their requests.
	a.list[0].Used, a.list[0].Requested = others.pods, 1
	return a.list
}

// accounts is a list of accounts that is also found by resource.
type accounts struct {
	list []Usage
	at   map[v1.ResourceName]int
}

func (a *accounts) open(name v1.ResourceName) {
	a.at[name] = len(a.list)
	a.list = append(a.list, Usage{Resource: name})
}

func (a *accounts) add(l v1.ResourceList, to func(*Usage) *int64) {
	for name, q := range l {
		if i, ok := a.at[name]; ok {
			*to(&a.list[i]) += pod.Count(name, q)
		}
	}
}
