package podsync

import (
	"context"
	"errors"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/render"
)

// mount sees to the pod's volumes, at every sync: what was mounted when the
// containers started may have to show something else by now
// (WaitForAttachAndMount in pkg/kubelet/volumemanager/volume_manager.go).
func (r *run) mount(ctx context.Context) error {
	if len(r.p.Spec.Volumes) == 0 && !r.plan.Starts() {
		return nil
	}
	memory := r.opt.Node.Allocatable[v1.ResourceMemory]
	paths, err := r.opt.Volumes.Mount(ctx, r.p, pod.VolumeInput{
		Objects:  r.objects,
		Downward: func(f v1.DownwardAPIVolumeFile) (string, error) { return render.VolumeFile(r.p, r.opt.Node, &f) },
		Memory:   memory.Value(),
	})
	r.volumes = paths
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var serious []error
	for _, e := range separate(err) {
		var worded interface{ EventMessage() string }
		if errors.As(e, &worded) {
			r.warn(r.p, "", EventFailedMount, "%s", worded.EventMessage())
		} else {
			r.warn(r.p, "", EventFailedMount, "Unable to attach or mount volumes: %v", e)
		}
		var harmless interface{ Harmless() bool }
		if !errors.As(e, &harmless) || !harmless.Harmless() {
			serious = append(serious, e)
		}
	}
	if len(serious) > 0 {
		return fmt.Errorf("mount volumes: %w", errors.Join(serious...))
	}
	return nil
}

// separate takes joined errors apart.
func separate(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok { //nolint:errorlint // of this very error
		return joined.Unwrap()
	}
	return []error{err}
}
