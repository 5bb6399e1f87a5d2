package podsync

import (
	"context"
	"errors"
	"time"

	v1 "k8s.io/api/core/v1"

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
