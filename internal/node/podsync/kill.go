package podsync

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/node/handler"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
)

// MinGrace is the shortest grace period of a container in seconds, whatever was requested
// and whatever its hook took (minimumGracePeriodInSeconds in
// pkg/kubelet/kuberuntime/kuberuntime_manager.go).
const MinGrace = 2

// kill is one container to stop.
type kill struct {
	p        *v1.Pod
	m        *memory
	id, name string
	// ip is where the pod's hooks reach it.
	ip      string
	reason  KillReason
	message string
	// grace overrides that of the pod and its probes; nil for none.
	grace *int64
	order *order
}

// killPod stops the pod's running containers, concurrently but for the order
// of sidecars, and then every sandbox of it, also if a container did not
// stop: stopping the sandbox kills its processes
// (killPodWithSyncResult in pkg/kubelet/kuberuntime/kuberuntime_manager.go).
func (s *Syncer) killPod(ctx context.Context, p *v1.Pod, m *memory, st *pod.Status, grace *int64) []error {
	var names []string
	var running []*pod.ContainerStatus
	for _, cs := range st.Containers {
		if cs.State == pod.Running {
			names, running = append(names, cs.Name), append(running, cs)
		}
	}
	errs := make([]error, len(running))
	order := newOrder(p, names)
	var wg sync.WaitGroup
	for i, cs := range running {
		wg.Go(func() {
			errs[i] = s.killContainer(ctx, kill{
				p: p, m: m, id: cs.ID, name: cs.Name, ip: s.podIP(p, st.IPs), reason: KillUnknown, grace: grace, order: order,
			})
		})
	}
	wg.Wait()
	for _, sandbox := range st.Sandboxes {
		if ctx.Err() != nil {
			return []error{ctx.Err()}
		}
		errs = append(errs, s.stopSandbox(ctx, sandbox.ID))
	}
	return withoutNil(errs)
}

func (s *Syncer) stopSandbox(ctx context.Context, id string) error {
	err := s.opt.Runtime.StopPodSandbox(ctx, id)
	switch {
	case err == nil, errors.Is(err, fs.ErrNotExist):
		return nil
	case timedOut(ctx, err):
		return stuckError(event.LayerSandbox, id, err)
	}
	return event.At(event.LayerSandbox, err)
}

// killContainer runs the container's preStop hook, waits for its turn, and
// stops it with the rest of its grace period, counted in whole
// seconds as the kubelet does (killContainer in
// pkg/kubelet/kuberuntime/kuberuntime_container.go).
func (s *Syncer) killContainer(ctx context.Context, k kill) error {
	c := containerOf(k.p, k.name)
	if k.message == "" {
		k.message = "Stopping container " + k.name
	}
	s.opt.Host.Event(k.p, event.Event{
		Container: k.name, Reason: event.Killing, Message: replaceID(k.message, k.id, k.name), Probe: s.failedProbe(k),
	})
	left := gracePeriod(k.p, c, k.reason)
	if k.grace != nil {
		left = *k.grace
	}
	if hook := handler.PreStop(c); hook != nil && left > 0 && k.m.beginHook(k.id) {
		took, stop := s.preStop(ctx, k, hook, time.Duration(left)*time.Second)
		defer stop()
		left -= int64(took / time.Second)
	}
	if left > 0 {
		left -= int64(k.order.wait(ctx, k.name, time.Duration(left)*time.Second) / time.Second)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.stopContainer(ctx, k, time.Duration(max(left, MinGrace))*time.Second); err != nil {
		return err
	}
	k.order.markTerminated(k.name)
	return nil
}

// failedProbe returns the probe for which a container is killed, nil if it is killed for
// another reason.
func (s *Syncer) failedProbe(k kill) *event.Probe {
	var probe string
	switch k.reason {
	case KillLivenessProbe:
		probe = event.LivenessProbe
	case KillStartupProbe:
		probe = event.StartupProbe
	default:
		return nil
	}
	for _, u := range s.opt.Host.Unready(k.p.UID) {
		if u.Container == k.name && u.Probe.Type == probe {
			return &u.Probe
		}
	}
	return nil
}

// stopContainer stops the container, and without a grace period if the runtime
// does not complete that in time.
func (s *Syncer) stopContainer(ctx context.Context, k kill, grace time.Duration) error {
	err := s.opt.Runtime.StopContainer(ctx, k.id, grace)
	if timedOut(ctx, err) {
		s.opt.Log.Warn("container did not stop in time, using force", "container", k.name, "uid", k.p.UID, "grace", grace, "err", err)
		if err = s.opt.Runtime.StopContainer(ctx, k.id, 0); timedOut(ctx, err) {
			return stuckError(event.LayerContainer, k.name, err)
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return event.At(event.LayerContainer, fmt.Errorf("container %q: %w", k.name, err))
	}
	return nil
}

// timedOut reports whether the runtime took too long, rather than the caller
// having cancelled.
func timedOut(ctx context.Context, err error) bool {
	return errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil
}

// preStop runs the hook for at most grace and returns how long it took. A hook
// that takes longer runs until stop is called.
func (s *Syncer) preStop(ctx context.Context, k kill, hook *v1.LifecycleHandler, grace time.Duration) (took time.Duration, stop func()) {
	// The output of the hook may hold secrets and is not shown.
	target := handler.Target{ContainerID: k.id, Container: containerOf(k.p, k.name), PodIP: k.ip, Brief: s.maskOf(k.p.UID).Brief}
	took, stop = handler.RunPreStop(ctx, s.opt.Runtime, target, hook, grace, func(ran handler.HookResult, err error) {
		s.fellBack(k.p, ran)
		if err != nil {
			s.warn(k.p, k.name, event.FailedPreStopHook, "PreStopHook failed")
			s.opt.Log.Warn("preStop hook failed", "container", k.name, "uid", k.p.UID, "err", s.maskOf(k.p.UID).Error(err))
		}
	})
	if took >= grace {
		s.opt.Log.Warn("preStop hook took the whole grace period", "container", k.name, "uid", k.p.UID, "grace", grace)
	}
	return took, stop
}

// gracePeriod returns the container's grace period in seconds: that of the pod's
// deletion, else of the probe that failed, else of the pod
// (setTerminationGracePeriod).
func gracePeriod(p *v1.Pod, c *v1.Container, reason KillReason) int64 {
	switch {
	case p.DeletionGracePeriodSeconds != nil:
		return *p.DeletionGracePeriodSeconds
	case p.Spec.TerminationGracePeriodSeconds == nil:
		return MinGrace
	}
	var probe *v1.Probe
	switch reason {
	case KillStartupProbe:
		probe = c.StartupProbe
	case KillLivenessProbe:
		probe = c.LivenessProbe
	case KillUnknown, KillPostStartFailed, KillChanged, KillRestartAll, KillRequested:
	}
	if probe != nil && probe.TerminationGracePeriodSeconds != nil {
		return *probe.TerminationGracePeriodSeconds
	}
	return *p.Spec.TerminationGracePeriodSeconds
}

// containerOf returns the container's spec. For a container that the manifest does not
// name it returns a spec with only the name, so that it can be stopped too.
func containerOf(p *v1.Pod, name string) *v1.Container {
	return cmp.Or(pod.ContainerNamed(p, name), &v1.Container{Name: name})
}

func withoutNil(errs []error) []error {
	var out []error
	for _, err := range errs {
		if err != nil {
			out = append(out, err)
		}
	}
	return out
}
