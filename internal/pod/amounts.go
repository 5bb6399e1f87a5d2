package pod

import (
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"
)

// Amounts are the CPU time, in thousandths of a CPU, and the memory, in bytes, of
// a container or of a pod: what a running pod can be given more or less of. 0 is
// none asked for, or no limit.
type Amounts struct {
	CPURequest, CPULimit       int64
	MemoryRequest, MemoryLimit int64
}

// CgroupAmounts are what the cgroup of a pod enforces; 0 is no limit.
type CgroupAmounts struct {
	// CPUShares is the weight, CPUQuota the microseconds in each CPUPeriod, Memory
	// bytes.
	CPUShares, CPUQuota, Memory int64
}

// AmountsOf returns those of a container of the pod: a limit that it lacks is the
// pod's (containerResourcesFromRequirements in
// pkg/kubelet/kuberuntime/kuberuntime_manager.go).
func AmountsOf(p *v1.Pod, c *v1.Container) Amounts {
	r := c.Resources
	a := Amounts{
		CPURequest: r.Requests.Cpu().MilliValue(), CPULimit: r.Limits.Cpu().MilliValue(),
		MemoryRequest: r.Requests.Memory().Value(), MemoryLimit: r.Limits.Memory().Value(),
	}
	if !resourcehelper.IsPodLevelResourcesSet(p) {
		return a
	}
	if a.CPULimit == 0 {
		a.CPULimit = p.Spec.Resources.Limits.Cpu().MilliValue()
	}
	if a.MemoryLimit == 0 {
		a.MemoryLimit = p.Spec.Resources.Limits.Memory().Value()
	}
	return a
}

// HugepageSize returns the page size in bytes that a resource such as
// "hugepages-2Mi" is of; false for any other resource
// (pkg/apis/core/v1/helper/helpers.go).
func HugepageSize(name v1.ResourceName) (int64, bool) {
	size, ok := strings.CutPrefix(string(name), v1.ResourceHugePagesPrefix)
	if !ok {
		return 0, false
	}
	bytes, err := resource.ParseQuantity(size)
	return bytes.Value(), err == nil
}

// What the kernel's CPU scheduler is told, by the kubelet's formulas
// (pkg/kubelet/cm/helpers_linux.go).
const (
	// CPUPeriod is what a quota is counted in: 100 ms, in microseconds.
	CPUPeriod = 100000
	// MinCPUShares and MaxCPUShares are the ends of a weight.
	MinCPUShares = 2
	MaxCPUShares = 262144

	sharesPerCPU = 1024
	minQuota     = 1000
	milliPerCPU  = 1000
)

// CPUShares returns the weight of a request in thousandths of a CPU; 1024 is one
// CPU. It is never zero: to the kernel that would mean 1024.
func CPUShares(milli int64) int64 {
	return min(max(milli*sharesPerCPU/milliPerCPU, MinCPUShares), MaxCPUShares)
}

// MilliOfShares returns the request that a weight stands for, rounded up
// (SharesToMilliCPU).
func MilliOfShares(shares int64) int64 {
	return (shares*milliPerCPU + sharesPerCPU - 1) / sharesPerCPU
}

// MilliOfQuota returns the limit that a quota stands for, 0 if there is none
// (QuotaToMilliCPU).
func MilliOfQuota(quota, period int64) int64 {
	if quota <= 0 || period <= 0 {
		return 0
	}
	return quota * milliPerCPU / period
}

// MinCPULimit is the smallest limit that has an effect, in thousandths of a CPU.
const MinCPULimit = minQuota * milliPerCPU / CPUPeriod

// CPUQuota returns the time in microseconds that a limit in thousandths of a CPU
// allows in each CPUPeriod: 1 ms at the least; 0, for 0, is no limit.
func CPUQuota(milli int64) int64 {
	if milli == 0 {
		return 0
	}
	return max(milli*CPUPeriod/milliPerCPU, minQuota)
}
