package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/podrecord"
	"github.com/podctl/podctl/internal/preempt"
	"github.com/podctl/podctl/internal/worker"
)

// killLeast is how long a kill may take at least, however short the pod's grace
// (killPodNow in pkg/kubelet/pod_workers.go).
const killLeast = 10 * time.Second

// ErrKillTimeout: a pod that was killed still runs.
var ErrKillTimeout = errors.New("it still runs after one and a half times its grace period")

var errNotStarted = errors.New("it has not started")

// Evict ends a pod with its own grace, as failed for this reason, to stay so
// until its manifest changes or Start; and returns when nothing of it runs. The
// error is ErrNoPod, a *NotRunningError or ErrKillTimeout. A pod that has ended already stays as it is.
func (n *Node) Evict(ctx context.Context, namespace, name, reason, message string) error {
	n.mu.Lock()
	e, err := n.named(namespace, name)
	if err == nil && !e.hasWorker() {
		// To evict what does not run would free nothing.
		if err = notRunning(e); err == nil {
			err = &NotRunningError{pod.DisplayName(namespace, name), errNotStarted}
		}
	}
	n.mu.Unlock()
	if err != nil {
		return fmt.Errorf("evict: %w", err)
	}
	if err := n.evict(ctx, e.Pod, reason, message); err != nil {
		return fmt.Errorf("evict %s: %w", pod.DisplayName(namespace, name), err)
	}
	return nil
}

// evict is Evict of the life of a pod that has this very spec.
func (n *Node) evict(ctx context.Context, p *v1.Pod, reason, message string) error {
	n.mu.Lock()
	e := n.entryOf(p.UID)
	gone := e == nil || e.Pod != p || !e.hasWorker() || e.stage == worker.Terminated || e.stage == worker.Finished
	n.mu.Unlock()
	if gone {
		return nil
	}
	down := make(chan struct{})
	n.fail(p, reason, message, nil, down)
	timer := time.NewTimer(killTime(p))
	defer timer.Stop()
	select {
	case <-down:
		return nil
	case <-timer.C:
		return ErrKillTimeout
	case <-ctx.Done():
		return ctx.Err()
	}
}

// fail stops a pod for good: it stays Failed until its manifest changes, also
// if podctl is killed now. grace, in seconds, shortens its own; down, unless nil,
// is closed when nothing of it runs (evictPod in pkg/kubelet/eviction/eviction_manager.go).
func (n *Node) fail(p *v1.Pod, reason, message string, grace *int64, down chan<- struct{}) {
	n.event(p, reason, true, "%s", message)
	status := v1.PodStatus{Phase: v1.PodFailed, Reason: reason, Message: message}
	n.recordEnd(p, status)
	n.workers.Kill(p, true, worker.KillOptions{
		Grace: grace, Evict: true, Done: down,
		Status: worker.StatusOverride{Phase: v1.PodFailed, Reason: reason, Message: message},
	})
	n.endUnborn(p, status)
}

// endUnborn keeps the status of a pod that was stopped for good while it
// waited for its name: no operation will, and its directory is not there yet.
func (n *Node) endUnborn(p *v1.Pod, status v1.PodStatus) {
	n.mu.Lock()
	e := n.entryOf(p.UID)
	unborn := e != nil && e.Pod == p && e.status.Phase == "" && n.workers.IsPodKnownTerminated(p.UID)
	n.mu.Unlock()
	if !unborn {
		return
	}
	e.recording.Lock()
	err := podrecord.Create(n.opts.Facts.Dir(p.UID), n.recordOf(e))
	e.recording.Unlock()
	if err != nil {
		n.log.Warn("the pod may start again if podctl is killed", "uid", p.UID, "err", err)
	}
	status.QOSClass = pod.QOS(p)
	n.setStatus(p, status)
}

// killTime is how long a kill with the pod's own grace may take.
func killTime(p *v1.Pod) time.Duration {
	grace := time.Duration(0)
	if g := p.Spec.TerminationGracePeriodSeconds; g != nil {
		grace = time.Duration(*g) * time.Second
	}
	return max(killLeast, grace+grace/2)
}

// override makes podsync's form of the worker's status override.
func override(p *v1.Pod, o worker.StatusOverride) func(*v1.PodStatus) {
	switch o {
	case worker.StatusOverride{}:
		return nil
	case worker.StatusOverride{Phase: v1.PodFailed, Reason: preempt.Preempting, Message: preempt.Message}:
		return preempt.Override(p, time.Now())
	}
	return func(s *v1.PodStatus) {
		s.Phase, s.Reason, s.Message = o.Phase, o.Reason, o.Message
	}
}
