package podsync

import (
	"context"
	"fmt"
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
