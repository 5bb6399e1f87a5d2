package main

import (
	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/render"
	"github.com/podctl/podctl/internal/userns"
)

// firstUsers are the ids that the first pod of a host gets, if it has a user
// namespace: which a pod will get is known when it starts.
func firstUsers(p *v1.Pod) *runtimeapi.UserNamespace {
	if p.Spec.HostUsers == nil || *p.Spec.HostUsers {
		return nil
	}
	ids := []*runtimeapi.IDMapping{{HostId: userns.Length, Length: userns.Length}}
	return &runtimeapi.UserNamespace{Mode: runtimeapi.NamespaceMode_POD, Uids: ids, Gids: ids}
}

// foreseeMounts adds to the input of a container what would be made, pulled
// and asked for before it is created, on a runtime that can do it all.
func foreseeMounts(p *v1.Pod, c *v1.Container, in *render.ContainerInput) error {
	in.UserNamespace, in.RecursiveReadOnly = firstUsers(p), true
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
	parts, err := render.SubPaths(p, c, *in)
	if err != nil {
		return err
	}
	in.SubPaths = map[int]string{}
	for _, part := range parts {
		in.SubPaths[part.Index] = part.Dir
	}
	return nil
}
