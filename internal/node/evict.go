package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/node/poddir"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
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

// evictor terminates pods for good.
type evictor struct {
	pods     *podTable
	workers  *worker.Workers
	records  *records
	statuses *statuses
	events   *eventSender
}

// evict terminates a pod that has this very spec with its own grace period, and keeps
// it Failed until its manifest changes or Start is called. It returns when nothing of
// the pod runs; the error is ErrKillTimeout or ctx's. A pod that has ended already
// stays as it is.
func (v *evictor) evict(ctx context.Context, p *v1.Pod, why event.Eviction) error {
	v.pods.mu.Lock()
	e := v.pods.get(p.UID)
	gone := e == nil || e.Pod != p || !e.hasWorker() || e.stage == worker.Terminated || v.pods.nothingRuns(e)
	v.pods.mu.Unlock()
	if gone {
		return nil
	}
	return v.failAndWait(ctx, p, why, nil)
}

// failAndWait fails a pod and waits until nothing of it runs. Where that takes too
// long, it sends the kubelet's event and returns ErrKillTimeout; the pod goes on
// terminating (killPodNow in pkg/kubelet/pod_workers.go).
func (v *evictor) failAndWait(ctx context.Context, p *v1.Pod, why event.Eviction, grace *int64) error {
	down := make(chan struct{})
	v.failPod(p, why, grace, down)
	timer := time.NewTimer(killTime(p, grace))
	defer timer.Stop()
	select {
	case <-down:
		return nil
	case <-timer.C:
		v.sendExceeded(p)
		return ErrKillTimeout
	case <-ctx.Done():
		return ctx.Err()
	}
}

// sendExceeded reports that a pod still runs after the time that its termination may
// take.
func (v *evictor) sendExceeded(p *v1.Pod) {
	v.events.send(p, event.Event{Reason: event.ExceededGracePeriod, Warning: true, Message: exceededMessage})
}

// failPod terminates a pod for good: it stays Failed until its manifest changes, also
// if podctl is killed now. grace, in seconds, shortens its own; down is closed when
// nothing of it runs (evictPod in pkg/kubelet/eviction/eviction_manager.go).
func (v *evictor) failPod(p *v1.Pod, why event.Eviction, grace *int64, down chan<- struct{}) {
	reason, message := evictionWords(why)
	v.events.send(p, event.Event{Reason: reason, Warning: true, Message: message, Eviction: &why})
	status := v1.PodStatus{Phase: v1.PodFailed, Reason: reason, Message: message}
	v.records.updateEnded(p.UID, status)
	v.workers.Kill(v.pods.allocated(p), true, worker.KillOptions{
		Grace: grace, Evict: true, Done: down,
		Status: worker.StatusOverride{Phase: v1.PodFailed, Reason: reason, Message: message, Eviction: why},
	})
	v.failNeverStarted(p, status)
}

// failNeverStarted publishes the status of a pod that was stopped for good before its
// first operation: no operation will, and its directory is not there yet.
func (v *evictor) failNeverStarted(p *v1.Pod, status v1.PodStatus) {
	v.pods.mu.Lock()
	e := v.pods.get(p.UID)
	neverStarted := e != nil && e.Pod == p && e.status.Phase == "" && v.workers.IsPodKnownTerminated(p.UID)
	v.pods.mu.Unlock()
	if !neverStarted {
		return
	}
	e.recording.Lock()
	err := poddir.CreateRecord(v.records.facts.Dir(p.UID), v.records.of(e))
	e.recording.Unlock()
	if err != nil {
		v.records.warn(p.UID, err)
	}
	status.QOSClass = pod.QOS(p)
	v.statuses.publish(p, status)
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
	switch {
	case e.Volume != "":
		message = fmt.Sprintf("Usage of EmptyDir volume %q exceeds the limit %q. ", e.Volume, e.Limit)
	case e.Container != "":
		message = fmt.Sprintf("Container %s exceeded its local ephemeral storage limit %q. ", e.Container, e.Limit)
	default:
		message = fmt.Sprintf("Pod ephemeral local storage usage exceeds the total limit of containers %s. ", e.Limit)
	}
	return event.Evicted, message
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
