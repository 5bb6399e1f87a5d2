package podsync

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podctl/podctl/internal/pod"
)

// setResources shows the CPU time and the memory that a running container has: as
// the runtime enforces them, where it says, else as it was given them, else as they were.
// A request of memory no runtime enforces. What does not differ
// by more than the runtime can express is shown as it was asked for
// (convertContainerStatusResources in pkg/kubelet/kubelet_pods.go).
func setResources(s *v1.ContainerStatus, cs *pod.ContainerStatus, old *v1.ContainerStatus, given pod.Amounts) {
	var before v1.ResourceRequirements
	if old != nil && old.State.Running != nil && old.ContainerID == s.ContainerID && old.Resources != nil {
		before = *old.Resources
	}
	var has pod.Enforced
	if cs.Resources != nil {
		has = *cs.Resources
	}
	cpu := func(milli, least int64) shown {
		return shown{v1.ResourceCPU, milli, resource.NewMilliQuantity(milli, resource.DecimalSI), least}
	}
	memory := shown{v1.ResourceMemory, has.MemoryLimit, resource.NewQuantity(has.MemoryLimit, resource.BinarySI), -1}
	limits, requests := s.Resources.Limits, s.Resources.Requests
	cpu(pod.MilliOfQuota(has.CPUQuota, has.CPUPeriod), pod.MinCPULimit).in(limits, before.Limits)
	memory.in(limits, before.Limits)
	cpu(pod.MilliOfShares(has.CPUShares), pod.MinCPUShares).in(requests, before.Requests)
	requested := shown{v1.ResourceMemory, given.MemoryRequest, resource.NewQuantity(given.MemoryRequest, resource.BinarySI), -1}
	requested.in(requests, before.Requests)
}

// shown is an amount that the runtime enforces.
type shown struct {
	name v1.ResourceName
	// amount is 0 where the runtime does not say.
	amount   int64
	quantity *resource.Quantity
	// least is the amount up to which two do not differ.
	least int64
}

// in sets the amount that the runtime enforces in a resource list of the status, else
// the amount of before. A nil list stays nil.
func (s shown) in(list, before v1.ResourceList) {
	switch {
	case list == nil:
	case s.amount > 0:
		asked := list[s.name]
		if s.amount > s.least || asked.MilliValue() > s.least {
			list[s.name] = s.quantity.DeepCopy()
		}
	default:
		if q, ok := before[s.name]; ok {
			list[s.name] = q.DeepCopy()
		}
	}
}
