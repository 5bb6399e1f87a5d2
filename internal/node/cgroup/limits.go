package cgroup

import (
	v1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"

	"github.com/podctl/podctl/internal/pod"
)

// Limits are what a pod's cgroup enforces. A zero field is no limit.
type Limits struct {
	// CPUShares is the weight, 2 to 262144; 1024 is one CPU.
	CPUShares uint64
	// CPUQuota is the time in microseconds that the pod may run in each
	// CPUPeriod.
	CPUQuota  int64
	CPUPeriod uint64
	// Memory is in bytes.
	Memory int64
	// Hugepages are bytes by page size in bytes; a size that is not here is
	// not to be had.
	Hugepages map[int64]int64
}

// PodLimits returns the limits of the pod as a whole, overhead included. CPU time
// and memory of a burstable pod are limited only if every container, or the
// pod, sets that limit (ResourceConfigForPod in pkg/kubelet/cm/helpers_linux.go).
func PodLimits(p *v1.Pod) Limits {
	requests := resourcehelper.PodRequests(p, resourcehelper.PodResourcesOptions{})
	limits := resourcehelper.PodLimits(p, resourcehelper.PodResourcesOptions{})

	out := Limits{CPUShares: pod.MinCPUShares, Hugepages: hugepages(requests)}
	class := pod.QOS(p)
	if class == v1.PodQOSBestEffort {
		return out
	}
	out.CPUShares = uint64(pod.CPUShares(requests.Cpu().MilliValue()))
	if class == v1.PodQOSGuaranteed || pod.IsLimited(p, v1.ResourceCPU) {
		out.CPUQuota, out.CPUPeriod = pod.CPUQuota(limits.Cpu().MilliValue()), pod.CPUPeriod
	}
	out.Memory = pod.MemoryLimit(p)
	return out
}

// Amounts returns the pod's share of CPU time and its limits, in the terms in which a
// pod is resized: see pod.CgroupAmounts.
func (l Limits) Amounts() pod.CgroupAmounts {
	return pod.CgroupAmounts{CPUShares: int64(l.CPUShares), CPUQuota: l.CPUQuota, Memory: l.Memory}
}

// shares returns the inverse of weight, rounded up (cpuWeightToCPUShares in
// pkg/kubelet/cm/cgroup_v2_manager_linux.go).
func shares(weight int64) int64 {
	return ((weight-1)*(pod.MaxCPUShares-pod.MinCPUShares)+9998)/9999 + pod.MinCPUShares
}

// weight is shares in the range of cgroup v2, 1 to 10000.
func weight(shares uint64) uint64 {
	if shares >= pod.MaxCPUShares {
		return 10000
	}
	return 1 + (max(shares, pod.MinCPUShares)-pod.MinCPUShares)*9999/(pod.MaxCPUShares-pod.MinCPUShares)
}

func hugepages(requests v1.ResourceList) map[int64]int64 {
	out := map[int64]int64{}
	for name, amount := range requests {
		if size, ok := pod.HugepageSize(name); ok {
			out[size] += amount.Value()
		}
	}
	return out
}
