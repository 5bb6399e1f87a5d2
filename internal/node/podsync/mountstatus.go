package podsync

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
)

// volumeMounts returns the statuses of the mounts that a container is to have.
func volumeMounts(c *v1.Container) []v1.VolumeMountStatus {
	var list []v1.VolumeMountStatus
	for _, m := range c.VolumeMounts {
		s := v1.VolumeMountStatus{Name: m.Name, MountPath: m.MountPath, ReadOnly: m.ReadOnly}
		if m.ReadOnly {
			s.RecursiveReadOnly = recursive(false)
		}
		list = append(list, s)
	}
	return list
}

// mountsAsMade returns the statuses of mounts of a container that the runtime
// holds. Whether one is recursively read-only is what the runtime reports,
// where it reports mounts; the kubelet infers it from what the runtime
// supports.
func mountsAsMade(list []v1.VolumeMountStatus, made []pod.Mount) []v1.VolumeMountStatus {
	list = slices.Clone(list)
	for i := range list {
		s := &list[i]
		if s.ReadOnly && len(made) > 0 {
			s.RecursiveReadOnly = recursive(slices.ContainsFunc(made, func(m pod.Mount) bool {
				return m.ContainerPath == s.MountPath && m.RecursiveReadOnly
			}))
		}
	}
	return list
}

func recursive(enabled bool) *v1.RecursiveReadOnlyMode {
	mode := v1.RecursiveReadOnlyDisabled
	if enabled {
		mode = v1.RecursiveReadOnlyEnabled
	}
	return &mode
}
