package podsync

import (
	"context"
	"errors"
	"slices"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/node/render"
)

// mountInput adds to the input what the container's mounts need: whether
// mounts can be read-only all the way down, the images that are volumes, and
// the parts of volumes, which it mounts.
func (r *run) mountInput(ctx context.Context, c *v1.Container, in *render.ContainerInput) error {
	if slices.ContainsFunc(c.VolumeMounts, func(m v1.VolumeMount) bool { return m.RecursiveReadOnly != nil }) {
		in.RecursiveReadOnly = r.recursiveReadOnly(ctx)
	}
	users, err := r.userNamespace(ctx)
	if err != nil {
		return err
	}
	in.UserNamespace = users
	in.ImageVolumes = map[string]*runtimeapi.ImageSpec{}
	for name, image := range r.imageVolumes {
		in.ImageVolumes[name] = image.spec
	}
	return r.bindSubPaths(c, in)
}

// bindSubPaths mounts the parts of volumes that the container mounts, and adds
// where to the input.
func (r *run) bindSubPaths(c *v1.Container, in *render.ContainerInput) error {
	parts, err := render.SubPaths(r.p, c, *in)
	if err != nil {
		return err
	}
	in.SubPaths = map[int]string{}
	for _, part := range parts {
		volume := in.Volumes[part.Volume]
		if volume == "" {
			continue // render says so
		}
		if err := r.opt.Volumes.BindSubPath(r.p.UID, volume, part.Path, part.Dir); err != nil {
			// The details would tell the pod's owner about the host.
			r.opt.Log.Warn("subPath", "uid", r.p.UID, "container", c.Name, "volume", part.Volume, "err", r.maskOf(r.p.UID).Error(errors.Join(err, errors.Unwrap(err))))
			return err
		}
		in.SubPaths[part.Index] = part.Dir
	}
	return nil
}
