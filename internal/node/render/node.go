package render

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"
)

// Node is what rendering needs to know of the machine and of podctl's own
// settings. It is read once, by package node, and never changed.
type Node struct {
	// Name is the node's name, for spec.nodeName.
	Name string
	// IPs are the node's addresses, primary first, for status.hostIP and for
	// the pods that share its network.
	IPs []string
	// MemoryCapacity is the machine's memory in bytes: MemTotal. oom_score_adj
	// is computed from it, so zero is an error for a burstable pod.
	MemoryCapacity int64
	// Allocatable stands in for limits that a container does not set, where a
	// resourceFieldRef asks for them: see Allocatable.
	Allocatable v1.ResourceList
	// HugePages are the pages that the machine has set aside, in bytes, by
	// hugepages-SIZE.
	HugePages v1.ResourceList
	// CgroupV2 reports that the unified hierarchy is the only one.
	CgroupV2 bool
	// SwapController reports whether swap can be limited: memory.memsw.limit_in_bytes
	// (v1) or memory.swap.max (v2) exists.
	SwapController bool
	// SELinux reports whether it is enabled.
	SELinux bool
	// HugePageSizes are the page sizes of the kernel as runc names them
	// ("2MB", "1GB"), in the order of its listing.
	HugePageSizes []string
	// ThermalThrottle are the /sys/devices/system/cpu/cpuN/thermal_throttle
	// directories that exist: masked in containers.
	ThermalThrottle []string
	// DNS is the node's resolv.conf: see ParseResolvConf. Who makes pods over a
	// long time reads it again.
	DNS DNS
	// ClusterDomain ends the domain of a pod with a subdomain. The standalone
	// kubelet's is empty.
	ClusterDomain string
	// StopSignals makes lifecycle.stopSignal count, as the kubelet's feature
	// gate ContainerStopSignals does: off by default in v1.37, on in podctl.
	StopSignals bool
	// PodsDir holds a directory per pod, LogDir the log directories, and
	// SeccompDir the profiles that localhostProfile names.
	PodsDir, LogDir, SeccompDir string
	// DirName names the directories of a pod in PodsDir and LogDir; nil is its UID.
	DirName func(types.UID) string
}

// memoryReserved is what the kubelet keeps back before it evicts
// (memory.available<100Mi), storageReserved the share of the disk
// (nodefs.available<10%, a float32 there: the digits matter).
const (
	memoryReserved  = 100 << 20
	storageReserved = float32(0.1)
)

// Allocatable returns what the kubelet calls allocatable with its default settings:
// cpus whole CPUs, memory bytes less the eviction threshold, and the storage
// bytes of the root directory's file system less a tenth; storage 0 is left
// out (pkg/kubelet/cm/node_container_manager_linux.go).
func Allocatable(cpus int, memory, storage int64) v1.ResourceList {
	list := v1.ResourceList{
		v1.ResourceCPU:    *resource.NewQuantity(int64(cpus), resource.DecimalSI),
		v1.ResourceMemory: *resource.NewQuantity(max(0, memory-memoryReserved), resource.BinarySI),
	}
	if storage > 0 {
		reserved := int64(float64(storage) * float64(storageReserved))
		list[v1.ResourceEphemeralStorage] = *resource.NewQuantity(storage-reserved, resource.BinarySI)
	}
	return list
}
