package podsync

import (
	"context"
	"maps"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/pod/event"
)

// imageVolume is the image of an image volume, or the error of getting it.
type imageVolume struct {
	spec   *runtimeapi.ImageSpec
	failed *StartError
}

// pullImageVolumes pulls the images of all image volumes of the pod. A failure fails
// the containers that mount the volume (getImageVolumes in
// pkg/kubelet/kuberuntime/kuberuntime_manager.go).
func (r *run) pullImageVolumes(ctx context.Context) {
	r.imageVolumes = map[string]imageVolume{}
	for i := range r.p.Spec.Volumes {
		v := &r.p.Spec.Volumes[i]
		if v.Image == nil {
			continue
		}
		spec, failed := r.ensureImageVolume(ctx, v.Image)
		r.imageVolumes[v.Name] = imageVolume{spec: spec, failed: failed}
	}
}

func (r *run) ensureImageVolume(ctx context.Context, v *v1.ImageVolumeSource) (*runtimeapi.ImageSpec, *StartError) {
	// Its events are the pod's: there is no container that it belongs to.
	image, failed := r.ensureImage(ctx, &v1.Container{Image: v.Reference, ImagePullPolicy: v.PullPolicy})
	if failed != nil {
		return nil, failed
	}
	return &runtimeapi.ImageSpec{
		Image: image.ID, UserSpecifiedImage: v.Reference,
		RuntimeHandler: r.opt.Host.RuntimeHandler(r.p), Annotations: maps.Clone(r.p.Annotations),
	}, nil
}

// imagesMounted returns why an image that the container mounts is not there; of
// several the last, as in the kubelet.
func (r *run) imagesMounted(ctx context.Context, c *v1.Container) *StartError {
	var last *StartError
	for _, m := range c.VolumeMounts {
		failed := r.imageVolumes[m.Name].failed
		if failed == nil {
			continue
		}
		of := *failed
		of.Container = c.Name
		last = &of
		if ctx.Err() == nil {
			r.unstarted(r.p, event.Event{Container: c.Name, Reason: event.Failed}, event.ContainerWait{Reason: of.Reason}, "Error: %s", of.Reason)
		}
	}
	return last
}
