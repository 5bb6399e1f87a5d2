package render

import (
	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// UserNamespace gives a pod the length ids of the host from first on, as its
// users and groups from 0 on.
func UserNamespace(first, length uint32) *runtimeapi.UserNamespace {
	ids := []*runtimeapi.IDMapping{{HostId: first, ContainerId: 0, Length: length}}
	return &runtimeapi.UserNamespace{Mode: runtimeapi.NamespaceMode_POD, Uids: ids, Gids: ids}
}

// Foresee adds to the input of a container, which has all else, what would be
// mounted, pulled and asked for before it is created on a runtime that can do
// it all: for showing a config without a runtime.
func Foresee(p *v1.Pod, c *v1.Container, in *ContainerInput) error {
	in.RecursiveReadOnly = true
	in.ImageVolumes = map[string]*runtimeapi.ImageSpec{}
	for _, v := range p.Spec.Volumes {
		if v.Image == nil {
			continue
		}
		spec := &runtimeapi.ImageSpec{Image: v.Image.Reference, UserSpecifiedImage: v.Image.Reference, Annotations: p.Annotations}
		if p.Spec.RuntimeClassName != nil {
			spec.RuntimeHandler = *p.Spec.RuntimeClassName
		}
		in.ImageVolumes[v.Name] = spec
	}
	parts, err := SubPaths(p, c, *in)
	if err != nil {
		return err
	}
	in.SubPaths = map[int]string{}
	for _, part := range parts {
		in.SubPaths[part.Index] = part.Dir
	}
	return nil
}
