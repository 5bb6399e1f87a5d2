package node

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/node/lifecycle"
	"github.com/podctl/podctl/internal/node/poddir"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
	"github.com/podctl/podctl/internal/worker"
)

// carryOut does what lifecycle decided and returns the pods that are to be
// started. Only the loop and Start call it with actions; it does not block.
func (n *Node) carryOut(ctx context.Context, w work) (attempts []types.UID) {
	for _, action := range w.actions {
		switch a := action.(type) {
		case lifecycle.Attempt:
			attempts = append(attempts, a.UID)
		case lifecycle.Run:
			n.runPod(a)
		case lifecycle.Update:
			n.updateInPlace(a.Pod.UID)
		case lifecycle.Kill:
			n.killPods([]*v1.Pod{a.Pod}, a.Grace)
		case lifecycle.TakeOver:
			n.takeOver(a)
		case lifecycle.Recreate:
			n.workers.Update(worker.Update{Pod: a.Pod, Type: worker.TypeCreate, Exclusive: true})
		case lifecycle.Remove:
			n.remover.startRemoval(ctx, a.UID)
		case lifecycle.Drop:
			n.finishDrop(a, w.retired[a.Pod.UID])
		case lifecycle.ReportWait:
			n.reportWait(a)
		case lifecycle.ReportRejection:
			n.reportRejection(a)
		}
	}
	return attempts
}

// runPod hands a pod to its worker.
func (n *Node) runPod(a lifecycle.Run) {
	if a.Mode == lifecycle.New {
		n.events.send(a.Pod, event.Event{Reason: event.Starting})
		n.pods.mu.Lock()
		n.pods.grant(a.Pod.UID, pod.AllocationOf(a.Pod))
		n.pods.mu.Unlock()
		n.workers.Update(worker.Update{Pod: a.Pod, Type: worker.TypeCreate, Exclusive: true})
		n.killIfStopped(a.Pod)
		return
	}
	rec := n.pods.record(a.Pod.UID)
	n.events.send(a.Pod, event.Event{Reason: event.Adopted, Adoption: adoption(a.Mode, rec)})
	n.workers.Adopt(a.Pod, true)
	if a.Mode == lifecycle.Resume {
		n.allocations.update(a.Pod.UID, false)
		n.killIfStopped(a.Pod)
		return
	}
	n.workers.Kill(n.pods.allocated(a.Pod), true, worker.KillOptions{Grace: rec.GraceLeft(time.Now())})
}

// adoption returns what becomes of an adopted pod.
func adoption(mode lifecycle.StartMode, rec poddir.Record) event.Adoption {
	switch {
	case mode == lifecycle.StayStopped:
		return event.StaysStopped
	case mode == lifecycle.StopThenRestart:
		return event.Restarts
	case rec.Phase != "":
		return event.StaysEnded
	}
	return event.Continues
}

// takeOver stops a pod that was found in the runtime: with its own grace and
// hooks if its spec is known.
func (n *Node) takeOver(a lifecycle.TakeOver) {
	n.opts.Observer.OrphanFound()
	if a.Runtime != nil {
		n.workers.KillRuntime(a.Runtime, true)
		return
	}
	rec := n.pods.record(a.Pod.UID)
	n.workers.Adopt(a.Pod, true)
	n.workers.Kill(n.pods.allocated(a.Pod), true, worker.KillOptions{Grace: rec.GraceLeft(time.Now())})
}

// killPods stops those of the pods that have a worker. What the node knows of a
// worker's phase may lag behind, so the workers are asked.
func (n *Node) killPods(pods []*v1.Pod, grace *int64) {
	for _, p := range pods {
		if n.workers.IsPodKnown(p.UID) {
			n.workers.Kill(n.pods.allocated(p), true, worker.KillOptions{Grace: graceIfShorter(p, grace)})
		}
	}
}

// graceIfShorter returns the grace if it is less than the pod's own, else nil: a worker
// would apply a longer one as well.
func graceIfShorter(p *v1.Pod, grace *int64) *int64 {
	if own := p.Spec.TerminationGracePeriodSeconds; grace != nil && own != nil && *own <= *grace {
		return nil
	}
	return grace
}

// finishDrop forgets a life of a pod that has left nothing, and releases its name unless
// another pod needs it. e is nil if the life never began.
func (n *Node) finishDrop(a lifecycle.Drop, e *entry) {
	if a.Started {
		removed := event.Event{Reason: event.Removed}
		if e != nil {
			removed.Phase = e.status.Phase
		}
		n.events.send(a.Pod, removed)
		n.probes.Remove(a.Pod.UID)
		n.sync.Forget(a.Pod.UID)
		n.starts.Forget(a.Pod.UID)
	}
	if a.Again {
		n.opts.Observer.Restarted(a.Pod)
	}
	n.names.release(lifecycle.Desired{Pod: a.Pod}.FullName())
	n.pods.mu.Lock()
	n.pods.dropping--
	n.pods.mu.Unlock()
	n.watchers.notifyChanged()
}

// reportWait reports why a pod waits, if podctl does not end the cause by itself.
func (n *Node) reportWait(a lifecycle.ReportWait) {
	w := a.Wait
	switch {
	case w.Reason.Blocked():
		n.events.send(a.Pod, event.Event{Reason: event.Waiting, Warning: true, Message: w.Err.Error(), HostPort: takenPort(w.Err)})
	case w.Err != nil:
		n.log.Warn("start pod", "pod", lifecycle.Desired{Pod: a.Pod}.FullName(), "uid", a.Pod.UID, "reason", w.Reason, "err", w.Err)
	}
}
