package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/event"
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

// exceededMessage is the message of ExceededGracePeriod (killPodNow in
// pkg/kubelet/pod_workers.go).
const exceededMessage = "Container runtime did not kill the pod within specified grace period."

var errNotStarted = errors.New("it has not started")

// Evict stops a pod with its own grace period and keeps it Failed until its
// manifest changes or Start is called. It returns when nothing of the pod runs.
// The error is ErrNoPod, a *NotRunningError or ErrKillTimeout. A pod that has
// ended already stays as it is.
func (n *Node) Evict(ctx context.Context, namespace, name string, why event.Eviction) error {
	n.pods.mu.Lock()
	e, err := n.pods.named(namespace, name)
	var p *v1.Pod
	if err == nil {
		p = e.Pod
	}
	if err == nil && !e.hasWorker() {
		// To evict what does not run would free nothing.
		if err = notRunning(e); err == nil {
			err = &NotRunningError{pod.DisplayName(namespace, name), errNotStarted}
		}
	}
	n.pods.mu.Unlock()
	if err != nil {
		return fmt.Errorf("evict: %w", err)
	}
	if err := n.evict(ctx, p, why); err != nil {
		return fmt.Errorf("evict %s: %w", pod.DisplayName(namespace, name), err)
	}
	return nil
}

// evict is Evict of the life of a pod that has this very spec.
func (n *Node) evict(ctx context.Context, p *v1.Pod, why event.Eviction) error {
	n.pods.mu.Lock()
	e := n.pods.get(p.UID)
	gone := e == nil || e.Pod != p || !e.hasWorker() || e.stage == worker.Terminated || e.stage == worker.Finished
	n.pods.mu.Unlock()
	if gone {
		return nil
	}
	return n.failAndWait(ctx, p, why, nil)
}

// failAndWait fails a pod and waits until nothing of it runs. Where that takes too
// long, it sends the kubelet's event and returns ErrKillTimeout; the pod goes on
// terminating (killPodNow in pkg/kubelet/pod_workers.go).
func (n *Node) failAndWait(ctx context.Context, p *v1.Pod, why event.Eviction, grace *int64) error {
	down := make(chan struct{})
	n.fail(p, why, grace, down)
	timer := time.NewTimer(killTime(p, grace))
	defer timer.Stop()
	select {
	case <-down:
		return nil
	case <-timer.C:
		n.sendExceeded(p)
		return ErrKillTimeout
	case <-ctx.Done():
		return ctx.Err()
	}
}

// sendExceeded reports that a pod still runs after the time that its termination may
// take.
func (n *Node) sendExceeded(p *v1.Pod) {
	n.send(p, event.Event{Reason: event.ExceededGracePeriod, Warning: true, Message: exceededMessage})
}

// fail terminates a pod for good: it stays Failed until its manifest changes, also
// if podctl is killed now. grace, in seconds, shortens its own; down is closed when
// nothing of it runs (evictPod in pkg/kubelet/eviction/eviction_manager.go).
func (n *Node) fail(p *v1.Pod, why event.Eviction, grace *int64, down chan<- struct{}) {
	reason, message := evictionWords(why)
	n.send(p, event.Event{Reason: reason, Warning: true, Message: message, Eviction: &why})
	status := v1.PodStatus{Phase: v1.PodFailed, Reason: reason, Message: message}
	n.recordEnd(p, status)
	n.workers.Kill(p, true, worker.KillOptions{
		Grace: grace, Evict: true, Done: down,
		Status: worker.StatusOverride{Phase: v1.PodFailed, Reason: reason, Message: message, Eviction: why},
	})
	n.endUnborn(p, status)
}

// endUnborn keeps the status of a pod that was stopped for good while it
// waited for its name: no operation will, and its directory is not there yet.
func (n *Node) endUnborn(p *v1.Pod, status v1.PodStatus) {
	n.pods.mu.Lock()
	e := n.pods.get(p.UID)
	unborn := e != nil && e.Pod == p && e.status.Phase == "" && n.workers.IsPodKnownTerminated(p.UID)
	n.pods.mu.Unlock()
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

// killTime returns how long it may take to terminate the pod with the grace, in
// seconds; nil is the pod's own.
func killTime(p *v1.Pod, grace *int64) time.Duration {
	if grace == nil {
		grace = p.Spec.TerminationGracePeriodSeconds
	}
	if grace == nil {
		return killLeast
	}
	least := time.Duration(*grace) * time.Second
	return max(killLeast, least+least/2)
}

// evictionWords are the kubelet's reason and message for the eviction.
func evictionWords(e event.Eviction) (reason, message string) {
	if e.Cause == event.Preempted {
		return preempt.Preempting, preempt.Message
	}
	return event.Evicted, fmt.Sprintf("Usage of EmptyDir volume %q exceeds the limit %q. ", e.Volume, e.Limit)
}

// override returns the worker's status override in podsync's form.
func override(p *v1.Pod, o worker.StatusOverride) func(*v1.PodStatus) {
	switch {
	case o == worker.StatusOverride{}:
		return nil
	case o.Eviction.Cause == event.Preempted:
		return preempt.Override(p, time.Now())
	}
	return func(s *v1.PodStatus) {
		s.Phase, s.Reason, s.Message = o.Phase, o.Reason, o.Message
	}
}
