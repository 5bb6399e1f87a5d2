package podsync

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
)

// Cleanup releases what a terminated pod held on the host: its volumes are
// unmounted, then its cgroup is removed. The runtime keeps its dead containers
// until Remove. The result has the status the pod ends with, in which every
// container has ended and the phase is terminal
// (SyncTerminatedPod in pkg/kubelet/kubelet.go).
func (s *Syncer) Cleanup(ctx context.Context, p *v1.Pod, st *pod.Status) (res Result, err error) {
	defer s.maskResult(p.UID, &res, &err)
	res.Status = s.publish(p, orEmpty(p, st), true, nil)
	if err := s.opt.Volumes.Unmount(ctx, p.UID); err != nil {
		s.failed(ctx, p, event.FailedUnmount, opCleanup, event.LayerVolume, err, "Unable to remove volumes: %v", err)
		return res, event.At(event.LayerVolume, fmt.Errorf("clean up pod: unmount volumes: %w", err))
	}
	if err := s.opt.Cgroups.Remove(ctx, p.UID); err != nil {
		return res, event.At(event.LayerCgroup, fmt.Errorf("clean up pod: remove cgroup: %w", err))
	}
	s.publish(p, orEmpty(p, st), true, nil)
	res.Status = s.publishFinal(p)
	res.Terminal = pod.IsTerminal(res.Status.Phase)
	return res, nil
}

// Remove deletes what the runtime still holds of a terminated pod: its
// containers, then its sandboxes. It tries each and joins the errors.
func (s *Syncer) Remove(ctx context.Context, st *pod.Status) error {
	var errs []error
	add := func(err error) {
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	for _, cs := range st.Containers {
		add(event.At(event.LayerContainer, s.opt.Runtime.RemoveContainer(ctx, cs.ID)))
	}
	for _, sandbox := range st.Sandboxes {
		if sandbox.State == pod.Running {
			add(event.At(event.LayerSandbox, s.opt.Runtime.StopPodSandbox(ctx, sandbox.ID)))
		}
		add(event.At(event.LayerSandbox, s.opt.Runtime.RemovePodSandbox(ctx, sandbox.ID)))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("remove pod from the runtime: %w", err)
	}
	return nil
}
