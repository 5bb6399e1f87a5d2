package podsync

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
)

// Terminate stops all of the pod that runs and returns nil only once a fresh
// status shows that nothing does. Its result has the final exit codes. It may
// be cancelled at any point and called again, with another grace period: a
// preStop hook that was begun is not run twice
// (SyncTerminatingPod in pkg/kubelet/kubelet.go).
func (s *Syncer) Terminate(ctx context.Context, in TerminateInput) (res Result, err error) {
	p, st := in.Pod, orEmpty(in.Pod, in.Status)
	s.learnSecrets(p, in.Objects)
	defer s.maskResult(p.UID, &res, &err)
	res.Status = s.publish(p, st, false, in.Override)
	res.Acted = len(st.Sandboxes) > 0 || st.AnyRunning()
	if errs := s.killPod(ctx, p, s.remember(p.UID), st, in.Grace); len(errs) > 0 {
		if ctx.Err() != nil {
			return res, ctx.Err()
		}
		err := joinErrors(errs, s.opt.Now())
		s.failed(ctx, p, event.FailedKillPod, opTerminate, event.LayerOf(err), err, "error killing pod: %v", err)
		return res, err
	}
	stopped, err := in.Fresh(ctx)
	if err != nil {
		return res, event.At(event.LayerStatus, fmt.Errorf("read its final status: %w", err))
	}
	final := *orEmpty(p, stopped)
	final.IPs = st.IPs
	if running := runningNames(&final); len(running) > 0 {
		return res, event.At(event.LayerContainer, fmt.Errorf("containers run after the runtime stopped them: %s", strings.Join(running, ", ")))
	}
	res.Status = s.publish(p, &final, true, in.Override)
	res.Terminal = pod.IsTerminal(res.Status.Phase)
	return res, nil
}

// TerminateRuntime stops a pod that only the runtime knows, without hooks. Each
// container has a grace period of grace seconds (SyncTerminatingRuntimePod in
// pkg/kubelet/kubelet.go, with a grace of 1).
func (s *Syncer) TerminateRuntime(ctx context.Context, p *pod.Pod, grace int64) error {
	v := &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: p.UID, Name: p.Name, Namespace: p.Namespace}}
	st := &pod.Status{UID: p.UID, Name: p.Name, Namespace: p.Namespace}
	for _, c := range p.Containers {
		st.Containers = append(st.Containers, &pod.ContainerStatus{ID: c.ID, Name: c.Name, State: c.State})
	}
	for _, sandbox := range p.Sandboxes {
		st.Sandboxes = append(st.Sandboxes, &pod.SandboxStatus{ID: sandbox.ID, State: sandbox.State})
	}
	errs := s.killPod(ctx, v, &memory{}, st, &grace)
	if len(errs) == 0 {
		return nil
	}
	err := joinErrors(errs, s.opt.Now())
	s.failed(ctx, v, event.FailedKillPod, opTerminate, event.LayerOf(err), err, "error killing pod: %v", err)
	return fmt.Errorf("terminate runtime pod: %w", err)
}

func runningNames(st *pod.Status) []string {
	var names []string
	for _, cs := range st.Containers {
		if cs.State == pod.Running {
			names = append(names, cs.Name)
		}
	}
	return names
}

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
