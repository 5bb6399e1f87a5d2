package cgroup

import (
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
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

const (
	minShares  = 2
	maxShares  = 262144
	cpuPeriod  = 100000 // 100 ms
	minQuota   = 1000
	noHugeCap  = int64(1) << 62 // the kubelet's "unbounded"
	perCPU     = 1024
	milliInCPU = 1000
)

// PodLimits are the limits of the pod as a whole, overhead included. CPU time
// and memory of a burstable pod are limited only if every container, or the
// pod, sets that limit (ResourceConfigForPod in pkg/kubelet/cm/helpers_linux.go).
func PodLimits(p *v1.Pod) Limits {
	requests := resourcehelper.PodRequests(p, resourcehelper.PodResourcesOptions{})
	cpuLimited, memoryLimited := true, true
	limits := resourcehelper.PodLimits(p, resourcehelper.PodResourcesOptions{
		ContainerFn: func(l v1.ResourceList, _ resourcehelper.ContainerType) {
			cpuLimited = cpuLimited && !l.Cpu().IsZero()
			memoryLimited = memoryLimited && !l.Memory().IsZero()
		},
	})
	if resourcehelper.IsPodLevelResourcesSet(p) {
		cpuLimited = cpuLimited || !p.Spec.Resources.Limits.Cpu().IsZero()
		memoryLimited = memoryLimited || !p.Spec.Resources.Limits.Memory().IsZero()
	}

	out := Limits{CPUShares: minShares, Hugepages: hugepages(requests)}
	class := pod.QOS(p)
	if class == v1.PodQOSBestEffort {
		return out
	}
	out.CPUShares = shares(requests.Cpu().MilliValue())
	if class == v1.PodQOSGuaranteed || cpuLimited {
		out.CPUQuota, out.CPUPeriod = quota(limits.Cpu().MilliValue()), cpuPeriod
	}
	if class == v1.PodQOSGuaranteed || memoryLimited {
		out.Memory = limits.Memory().Value()
	}
	return out
}

// burstableShares is the weight of the parent of burstable pods: what they
// request together (setCPUCgroupConfig in
// pkg/kubelet/cm/qos_container_manager_linux.go).
func burstableShares(pods []*v1.Pod) uint64 {
	var milli int64
	for _, p := range pods {
		if pod.QOS(p) == v1.PodQOSBurstable {
			requests := resourcehelper.PodRequests(p, resourcehelper.PodResourcesOptions{})
			milli += requests.Cpu().MilliValue()
		}
	}
	return shares(milli)
}

// shares turns a thousandth of a CPU into a weight. Zero is the smallest one:
// to the kernel, none would mean 1024.
func shares(milli int64) uint64 {
	return uint64(min(max(milli*perCPU/milliInCPU, minShares), maxShares))
}

// quota turns thousandths of a CPU into microseconds of each period.
func quota(milli int64) int64 {
	if milli == 0 {
		return 0
	}
	return max(milli*cpuPeriod/milliInCPU, minQuota)
}

// weight is shares in the range of cgroup v2, 1 to 10000.
func weight(shares uint64) uint64 {
	if shares >= maxShares {
		return 10000
	}
	return 1 + (max(shares, minShares)-minShares)*9999/(maxShares-minShares)
}

func hugepages(requests v1.ResourceList) map[int64]int64 {
	out := map[int64]int64{}
	for name, amount := range requests {
		size, ok := strings.CutPrefix(string(name), v1.ResourceHugePagesPrefix)
		if !ok {
			continue
		}
		if bytes, err := resource.ParseQuantity(size); err == nil {
			out[bytes.Value()] += amount.Value()
		}
	}
	return out
}
