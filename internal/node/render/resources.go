package render

import (
	"strconv"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	resourcehelper "k8s.io/component-helpers/resource"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/pod"
)

// linuxResources returns the limits as the CRI has them. A nil request is taken
// from the limit (calculateLinuxResources in
// pkg/kubelet/kuberuntime/kuberuntime_container_linux.go).
func linuxResources(n *Node, request, limit, memory *resource.Quantity) *runtimeapi.LinuxContainerResources {
	if request == nil {
		request = limit
	}
	r := &runtimeapi.LinuxContainerResources{
		CpuPeriod:          pod.CPUPeriod,
		CpuQuota:           pod.CPUQuota(limit.MilliValue()),
		CpuShares:          pod.CPUShares(request.MilliValue()),
		MemoryLimitInBytes: memory.Value(),
	}
	if n.CgroupV2 {
		// One process out of memory takes the container with it.
		r.Unified = map[string]string{"memory.oom.group": "1"}
	}
	return r
}

// sandboxResources returns the pod's, without its overhead.
func sandboxResources(p *v1.Pod, n *Node) *runtimeapi.LinuxContainerResources {
	options := resourcehelper.PodResourcesOptions{ExcludeOverhead: true}
	requests, limits := resourcehelper.PodRequests(p, options), resourcehelper.PodLimits(p, options)
	return linuxResources(n, requestOf(requests), limits.Cpu(), limits.Memory())
}

// OverheadResources returns what the pod's runtime class adds to its containers, as
// the CRI has it of a sandbox; empty without a runtime class.
func OverheadResources(p *v1.Pod, n *Node) *runtimeapi.LinuxContainerResources {
	if p.Spec.Overhead == nil {
		return &runtimeapi.LinuxContainerResources{}
	}
	cpu := p.Spec.Overhead.Cpu()
	return linuxResources(n, cpu, cpu, p.Spec.Overhead.Memory())
}

// ContainerResources returns the container's own; a limit that it lacks is the
// pod's (generateLinuxContainerResources, as above).
func ContainerResources(p *v1.Pod, c *v1.Container, n *Node) (*runtimeapi.LinuxContainerResources, error) {
	cpu, memory := c.Resources.Limits.Cpu(), c.Resources.Limits.Memory()
	if resourcehelper.IsPodLevelResourcesSet(p) {
		if cpu.IsZero() {
			cpu = p.Spec.Resources.Limits.Cpu()
		}
		if memory.IsZero() {
			memory = p.Spec.Resources.Limits.Memory()
		}
	}
	r := linuxResources(n, requestOf(c.Resources.Requests), cpu, memory)
	score, err := oomScoreAdj(p, c, n.MemoryCapacity)
	if err != nil {
		return nil, err
	}
	r.OomScoreAdj = score
	r.HugepageLimits = hugepageLimits(p, c, n)
	if n.CgroupV2 {
		// Its memory is protected from reclaim by nothing but the limits of others: the
		// kubelet's memoryReservationPolicy None.
		r.Unified["memory.min"], r.Unified["memory.low"] = "0", "0"
	}
	forbidSwap(r, n)
	return r, nil
}

// requestOf returns the CPU request, nil if there is none.
func requestOf(list v1.ResourceList) *resource.Quantity {
	if q, ok := list[v1.ResourceCPU]; ok {
		return &q
	}
	return nil
}

// forbidSwap allows no swap beyond the memory limit, where the kernel can
// tell (ConfigureNoSwap, as above).
func forbidSwap(r *runtimeapi.LinuxContainerResources, n *Node) {
	switch {
	case !n.SwapController:
	case n.CgroupV2:
		r.Unified["memory.swap.max"] = "0"
	default:
		r.MemorySwapLimitInBytes = r.MemoryLimitInBytes
	}
}

// hugepageLimits limits every page size of the node: to what the container
// asks for, else the pod, else 0 (GetHugepageLimitsFromResources in
// pkg/kubelet/kuberuntime/kuberuntime_container_linux.go). A size that the
// node lacks is left out.
func hugepageLimits(p *v1.Pod, c *v1.Container, n *Node) []*runtimeapi.HugepageLimit {
	wanted := map[string]uint64{}
	if resourcehelper.IsPodLevelResourcesSet(p) {
		addHugepages(wanted, p.Spec.Resources.Limits)
	}
	addHugepages(wanted, c.Resources.Limits)

	var limits []*runtimeapi.HugepageLimit
	for _, size := range n.HugePageSizes {
		limits = append(limits, &runtimeapi.HugepageLimit{PageSize: size, Limit: wanted[size]})
	}
	return limits
}

func addHugepages(wanted map[string]uint64, limits v1.ResourceList) {
	for name, amount := range limits {
		if size, ok := pod.HugepageSize(name); ok {
			wanted[pageSizeName(size)] = uint64(amount.Value())
		}
	}
}

// pageSizeName writes a page size as runc does: 2097152 is "2MB".
func pageSizeName(bytes int64) string {
	units := []string{"B", "KB", "MB", "GB", "TB", "PB"}
	unit := 0
	for bytes > 0 && bytes%1024 == 0 && unit < len(units)-1 {
		bytes /= 1024
		unit++
	}
	return strconv.FormatInt(bytes, 10) + units[unit]
}
