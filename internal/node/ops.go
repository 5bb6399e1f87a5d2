package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/node/lifecycle"
	"github.com/podctl/podctl/internal/node/podsync"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
	"github.com/podctl/podctl/internal/sys/flock"
	"github.com/podctl/podctl/internal/worker"
)

// ops carries out what the workers decide: it waits for a status that is
// newer than what the pod's last operation did, and hands it to podsync. An
// operation that touched nothing leaves the status that it had good enough for
// the next one; the kubelet waits for a newer one nevertheless.
type ops struct{ n *Node }

var _ worker.Ops = ops{}

func (o ops) Sync(ctx context.Context, in worker.SyncInput) (terminal bool, err error) {
	ctx = flock.For(ctx, string(in.Pod.UID))
	defer withRuntimeLayer(&err)
	defer o.n.pleg.Hold(in.Pod.UID)()
	st, err := o.status(ctx, in.Pod)
	if err != nil {
		return false, err
	}
	o.n.probes.Add(in.Pod, o.n.pods.isAdopted(in.Pod.UID))
	res, err := o.n.sync.Sync(ctx, podsync.SyncInput{Pod: in.Pod, Status: st, Objects: o.n.desired.allObjects(), Adopted: o.n.pods.adoptedAllocation(in.Pod.UID)})
	if res.Started && pod.HasUserNamespace(in.Pod) {
		o.n.opts.Observer.StartedUserNamespaced(err)
	}
	if res.Acted || err != nil {
		o.n.statuses.touch(in.Pod.UID)
	}
	if res.Resized {
		o.n.pleg.RequestReinspect(in.Pod.UID) // no listing shows the difference
	}
	o.n.probes.ProbeNow(in.Pod.UID, &res.Status)
	if res.Terminal {
		o.n.records.updateEnded(in.Pod.UID, res.Status)
	}
	o.n.scheduleSync(in.Pod, res.Deadline)
	return res.Terminal, err
}

func (o ops) Terminate(ctx context.Context, in worker.TerminateInput) (err error) {
	ctx = flock.For(ctx, string(in.Pod.UID))
	defer withRuntimeLayer(&err)
	o.n.records.updateStopping(in.Pod.UID, in.Grace)
	defer o.n.pleg.Hold(in.Pod.UID)()
	st, err := o.status(ctx, in.Pod)
	if err != nil {
		return err
	}
	o.n.probes.Terminate(in.Pod.UID)
	res, err := o.n.sync.Terminate(ctx, podsync.TerminateInput{
		Pod: in.Pod, Status: st, Objects: o.n.desired.allObjects(), Grace: in.Grace, Override: override(in.Pod, in.Status),
		Fresh: func(ctx context.Context) (*pod.Status, error) {
			o.n.statuses.touch(in.Pod.UID)
			return o.n.statuses.read(ctx, in.Pod.UID)
		},
	})
	if err != nil {
		o.n.statuses.touch(in.Pod.UID)
		return err
	}
	o.n.records.updateTerminated(in.Pod.UID, res.Status)
	o.n.probes.Remove(in.Pod.UID)
	return nil
}

func (o ops) TerminateRuntime(ctx context.Context, p *pod.Pod) (err error) {
	ctx = flock.For(ctx, string(p.UID))
	defer withRuntimeLayer(&err)
	return o.n.sync.TerminateRuntime(ctx, p, runtimeGrace)
}

// runtimeGrace, in seconds, is what an unknown pod is given (SyncTerminatingRuntimePod
// in pkg/kubelet/kubelet.go).
const runtimeGrace = 1

func (o ops) Cleanup(ctx context.Context, in worker.CleanupInput) (err error) {
	ctx = flock.For(ctx, string(in.Pod.UID))
	defer withRuntimeLayer(&err)
	release, removed := o.n.pleg.Hold(in.Pod.UID), false
	defer func() {
		if !removed { // else the next full relist shows its end
			release()
		}
	}()
	st, err := o.status(ctx, in.Pod)
	if err != nil {
		return err
	}
	if _, err := o.n.sync.Cleanup(ctx, in.Pod, st); err != nil {
		return err
	}
	o.n.pods.mu.Lock()
	e := o.n.pods.get(in.Pod.UID)
	leaving := e != nil && e.Leaving()
	o.n.pods.mu.Unlock()
	if !leaving {
		if o.n.workers.ShouldPodContentBeRemoved(in.Pod.UID) {
			o.n.remover.removeDead(ctx, deadContainers(st, "", 0), true)
		}
		return nil
	}
	if err := o.n.remover.removeDown(ctx, e, in.Pod); err != nil {
		return err
	}
	removed = true
	o.n.pods.mu.Lock()
	defer o.n.pods.mu.Unlock()
	if o.n.pods.get(in.Pod.UID) == e {
		o.n.pods.step(in.Pod.UID, lifecycle.Cleaned{})
	}
	return nil
}

// withRuntimeLayer sets the layer of an operation's error to the runtime if that did not
// answer, whatever the call.
func withRuntimeLayer(err *error) {
	if errors.Is(*err, cri.ErrUnavailable) {
		*err = event.At(event.LayerRuntime, *err)
	}
}

// status is what an operation on the pod goes by (podWorkerLoop in
// pkg/kubelet/pod_workers.go).
func (o ops) status(ctx context.Context, p *v1.Pod) (*pod.Status, error) {
	st, err := o.n.statuses.read(ctx, p.UID)
	if err != nil && ctx.Err() == nil {
		o.n.events.send(p, event.Event{
			Reason: event.FailedSync, Warning: true, Message: fmt.Sprintf("error determining status: %v", err),
			Failure: &event.Failure{Layer: event.LayerStatus, Text: err.Error()},
		})
	}
	return st, event.At(event.LayerStatus, err)
}

// scheduleSync has the pod synced at its active deadline, without waiting for its
// resync; a zero time cancels that.
func (n *Node) scheduleSync(p *v1.Pod, at time.Time) {
	n.pods.mu.Lock()
	defer n.pods.mu.Unlock()
	e := n.pods.get(p.UID)
	if e == nil || e.deadline.Equal(at) {
		return
	}
	e.deadline = at
	if e.alarm != nil {
		e.alarm.Stop()
		e.alarm = nil
	}
	if at.IsZero() {
		return
	}
	e.alarm = time.AfterFunc(time.Until(at), func() { n.syncPod(p.UID) })
}
