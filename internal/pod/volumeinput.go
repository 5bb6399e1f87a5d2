package pod

import (
	v1 "k8s.io/api/core/v1"
	resourcehelper "k8s.io/component-helpers/resource"
)

// VolumeInput is what a pod's volumes are made of beside the pod itself. The
// zero value has no objects and no downward API.
type VolumeInput struct {
	// Objects are what the pod may refer to.
	Objects *Objects
	// Downward is the content of a file of the downward API; nil has none.
	Downward func(v1.DownwardAPIVolumeFile) (string, error)
	// Memory is the node's allocatable memory in bytes, the most that a volume
	// in memory may hold; 0 leaves it to the kernel.
	Memory int64
}

// MemoryLimit returns what the pod's cgroup limits its memory to, in bytes: 0 for
// none, as where one container has no limit and the pod itself neither
// (ResourceConfigForPod in pkg/kubelet/cm/helpers_linux.go).
func MemoryLimit(p *v1.Pod) int64 {
	everywhere := true
	limits := resourcehelper.PodLimits(p, resourcehelper.PodResourcesOptions{
		ContainerFn: func(l v1.ResourceList, _ resourcehelper.ContainerType) {
			everywhere = everywhere && !l.Memory().IsZero()
		},
	})
	if resourcehelper.IsPodLevelResourcesSet(p) && !p.Spec.Resources.Limits.Memory().IsZero() {
		everywhere = true
	}
	if !everywhere || QOS(p) == v1.PodQOSBestEffort {
		return 0
	}
	return limits.Memory().Value()
}
