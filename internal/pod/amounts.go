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
