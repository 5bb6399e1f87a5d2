package render

import (
	"fmt"
	"path/filepath"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

const hostsPath = "/etc/hosts"

// mounts returns the container's volumes, then /etc/hosts, then the file of its
// termination message (makeMounts in pkg/kubelet/kubelet_pods.go and
// pkg/kubelet/kuberuntime/kuberuntime_container.go).
func mounts(p *v1.Pod, c *v1.Container, in ContainerInput, env *environment) ([]*runtimeapi.Mount, error) {
	var out []*runtimeapi.Mount
	// A pod without an address has nothing to write into the file.
	hosts := p.Spec.HostNetwork || len(in.PodIPs) > 0
	for i := range c.VolumeMounts {
		mount, err := volumeMount(p, c, i, in, env)
		if err != nil {
			return nil, err
		}
		hosts = hosts && c.VolumeMounts[i].MountPath != hostsPath
		out = append(out, mount)
	}
	if hosts {
		out = append(out, &runtimeapi.Mount{
			ContainerPath:  hostsPath,
			HostPath:       in.Node.HostsFile(p.UID),
			SelinuxRelabel: in.Node.SELinux,
		})
	}
	if in.TerminationLog != "" && c.TerminationMessagePath != "" {
		out = append(out, &runtimeapi.Mount{
			ContainerPath:  absolute(c.TerminationMessagePath),
			HostPath:       in.TerminationLog,
			SelinuxRelabel: in.Node.SELinux,
		})
	}
	return out, nil
}

// volumeMount returns the container's i-th volumeMount.
func volumeMount(p *v1.Pod, c *v1.Container, i int, in ContainerInput, env *environment) (*runtimeapi.Mount, error) {
	m := &c.VolumeMounts[i]
	volume := findVolume(p, m.Name)
	if volume == nil {
		return nil, fmt.Errorf("cannot find volume %q to mount into container %q", m.Name, c.Name)
	}
	subPath, err := subPathOf(m, env)
	if err != nil {
		return nil, err
	}
	recursive, err := recursiveReadOnly(m, in.RecursiveReadOnly)
	if err != nil {
		return nil, fmt.Errorf("failed to resolve recursive read-only mode: %w", err)
	}
	propagation, err := propagationOf(m)
	if err != nil {
		return nil, err
	}
	kind := attributesOf(volume)
	mount := &runtimeapi.Mount{
		ContainerPath:     absolute(m.MountPath),
		Readonly:          m.ReadOnly || kind.readOnly,
		RecursiveReadOnly: recursive,
		SelinuxRelabel:    kind.managed && in.Node.SELinux,
		Propagation:       propagation,
	}
	if image := in.ImageVolumes[m.Name]; image != nil {
		mount.Image, mount.ImageSubPath = image, subPath
		return mount, nil
	}
	if subPath != "" {
		mount.HostPath = in.SubPaths[i]
	} else {
		mount.HostPath = in.Volumes[m.Name]
	}
	if mount.HostPath == "" {
		return nil, fmt.Errorf("volume %q, mounted at %q, has not been set up", m.Name, m.MountPath)
	}
	return mount, nil
}

// attributes are what a kind of volume fixes for all its mounts.
type attributes struct {
	// readOnly: a container never writes there.
	readOnly bool
	// managed: made by us, and so relabelled for SELinux.
	managed bool
}

func attributesOf(v *v1.Volume) attributes {
	switch {
	case v.ConfigMap != nil, v.Secret != nil, v.DownwardAPI != nil, v.Projected != nil, v.Image != nil:
		return attributes{readOnly: true, managed: true}
	case v.EmptyDir != nil, v.Ephemeral != nil:
		return attributes{managed: true}
	case v.PersistentVolumeClaim != nil:
		readOnly := v.PersistentVolumeClaim.ReadOnly
		return attributes{readOnly: readOnly, managed: !readOnly} // as pkg/volume/local
	default:
		return attributes{}
	}
}

func findVolume(p *v1.Pod, name string) *v1.Volume {
	for i := range p.Spec.Volumes {
		if p.Spec.Volumes[i].Name == name {
			return &p.Spec.Volumes[i]
		}
	}
	return nil
}

func propagationOf(m *v1.VolumeMount) (runtimeapi.MountPropagation, error) {
	if m.MountPropagation == nil {
		return runtimeapi.MountPropagation_PROPAGATION_PRIVATE, nil
	}
	switch *m.MountPropagation {
	case v1.MountPropagationNone:
		return runtimeapi.MountPropagation_PROPAGATION_PRIVATE, nil
	case v1.MountPropagationHostToContainer:
		return runtimeapi.MountPropagation_PROPAGATION_HOST_TO_CONTAINER, nil
	case v1.MountPropagationBidirectional:
		return runtimeapi.MountPropagation_PROPAGATION_BIDIRECTIONAL, nil
	default:
		return 0, fmt.Errorf("volumeMount %q: unknown mountPropagation %q", m.Name, *m.MountPropagation)
	}
}

// recursiveReadOnly decides whether mounts below m are read-only too.
func recursiveReadOnly(m *v1.VolumeMount, supported bool) (bool, error) {
	if m.RecursiveReadOnly == nil || *m.RecursiveReadOnly == v1.RecursiveReadOnlyDisabled {
		return false, nil
	}
	if !m.ReadOnly {
		return false, fmt.Errorf("volume %q requested recursive read-only mode, but it is not read-only", m.Name)
	}
	if m.MountPropagation != nil && *m.MountPropagation != v1.MountPropagationNone {
		return false, fmt.Errorf("volume %q requested recursive read-only mode, but it is not compatible with propagation %q", m.Name, *m.MountPropagation)
	}
	switch *m.RecursiveReadOnly {
	case v1.RecursiveReadOnlyIfPossible:
		return supported, nil
	case v1.RecursiveReadOnlyEnabled:
		if !supported {
			return false, fmt.Errorf("volume %q requested recursive read-only mode, but it is not supported by the runtime", m.Name)
		}
		return true, nil
	default:
		return false, fmt.Errorf("unknown recursive read-only mode %q", *m.RecursiveReadOnly)
	}
}

func absolute(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return "/" + path
}
