package pod

import (
	v1 "k8s.io/api/core/v1"
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
