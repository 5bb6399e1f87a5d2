package podsync

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/node/render"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
)

// mount mounts and updates the pod's volumes. It runs at every sync: the contents of
// mounted volumes follow their objects (WaitForAttachAndMount in
// pkg/kubelet/volumemanager/volume_manager.go).
func (r *run) mount(ctx context.Context) error {
	if len(r.p.Spec.Volumes) == 0 && !r.plan.Starts() {
		return nil
	}
	if r.plan.Starts() {
		defer r.enter(pod.StepVolumes, "", "")()
	}
	memory := r.opt.Node.Allocatable[v1.ResourceMemory]
	paths, err := r.opt.Volumes.Mount(ctx, r.p, pod.VolumeInput{
		Objects:  r.objects,
		Downward: func(f v1.DownwardAPIVolumeFile) (string, error) { return render.VolumeFile(r.p, r.opt.Node, &f) },
		Memory:   memory.Value(),
	})
	r.volumes = paths
	if err == nil {
		r.m.mountFailures = 0
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var serious []error
	for _, e := range splitJoined(err) {
		var worded interface{ EventMessage() string }
		if errors.As(e, &worded) {
			r.failed(ctx, r.p, event.FailedMount, opSync, event.LayerVolume, e, "%s", worded.EventMessage())
		} else {
			r.failed(ctx, r.p, event.FailedMount, opSync, event.LayerVolume, e, "Unable to attach or mount volumes: %v", e)
		}
		var harmless interface{ Harmless() bool }
		if !errors.As(e, &harmless) || !harmless.Harmless() {
			serious = append(serious, e)
		}
	}
	if len(serious) == 0 {
		r.m.mountFailures = 0
		return nil
	}
	wait := min(mountRetry<<min(r.m.mountFailures, 10), retryUntimed)
	r.m.mountFailures++
	return &mountError{err: errors.Join(serious...), retry: r.opt.Now().Add(wait)}
}

// mountRetry is how soon a mount that failed is tried again; it doubles with
// each failure (pkg/util/goroutinemap/exponentialbackoff/exponential_backoff.go).
const mountRetry = 500 * time.Millisecond

// mountError reports volumes that containers need and that could not be mounted.
type mountError struct {
	err   error
	retry time.Time
}

func (e *mountError) Error() string { return "mount volumes: " + e.err.Error() }

func (e *mountError) Unwrap() error { return e.err }

// Layer returns event.LayerVolume.
func (e *mountError) Layer() event.Layer { return event.LayerVolume }

// RetryAt returns when to try again.
func (e *mountError) RetryAt() (time.Time, bool) { return e.retry, true }

// splitJoined returns the errors that errors.Join joined.
func splitJoined(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		return joined.Unwrap()
	}
	return []error{err}
}

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
