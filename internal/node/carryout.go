package node

import (
	"context"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/event"
	"github.com/podctl/podctl/internal/lifecycle"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/podrecord"
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
			n.run(a)
		case lifecycle.Update:
			n.allocations.update(a.Pod.UID, false)
		case lifecycle.Kill:
			n.stop([]*v1.Pod{a.Pod}, a.Grace)
		case lifecycle.TakeOver:
			n.takeOver(a)
		case lifecycle.Recreate:
			n.workers.Update(worker.Update{Pod: a.Pod, Type: worker.TypeCreate, Exclusive: true})
		case lifecycle.Remove:
			n.remover.start(ctx, a.UID)
		case lifecycle.Drop:
			n.dropped(a, w.retired[a.Pod.UID])
		case lifecycle.ReportWait:
			n.reportWait(a)
		case lifecycle.ReportRejection:
			n.reportRejection(a)
		}
	}
	return attempts
}

// run hands a pod to its worker.
func (n *Node) run(a lifecycle.Run) {
	if a.How == lifecycle.New {
		n.events.send(a.Pod, event.Event{Reason: event.Starting})
		n.pods.mu.Lock()
		n.pods.grant(a.Pod.UID, pod.AllocationOf(a.Pod))
		n.pods.mu.Unlock()
		n.workers.Update(worker.Update{Pod: a.Pod, Type: worker.TypeCreate, Exclusive: true})
		n.stopHeld(a.Pod)
		return
	}
	rec := n.pods.record(a.Pod.UID)
	n.events.send(a.Pod, event.Event{Reason: event.Adopted, Adoption: adoption(a.How, rec)})
	n.workers.Adopt(a.Pod, true)
	if a.How == lifecycle.Resume {
		n.allocations.update(a.Pod.UID, false)
		n.stopHeld(a.Pod)
		return
	}
	n.workers.Kill(a.Pod, true, worker.KillOptions{Grace: rec.GraceLeft(time.Now())})
}

// adoption is what becomes of an adopted pod.
func adoption(how lifecycle.How, rec podrecord.Record) event.Adoption {
	switch {
	case how == lifecycle.Hold:
		return event.StaysStopped
	case how == lifecycle.Finish:
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
	n.workers.Kill(a.Pod, true, worker.KillOptions{Grace: rec.GraceLeft(time.Now())})
}

// stop stops those of the pods that have a worker. What the node knows of a
// worker's phase may lag behind, so the workers are asked.
func (n *Node) stop(pods []*v1.Pod, grace *int64) {
	for _, p := range pods {
		if n.workers.IsPodKnown(p.UID) {
			n.workers.Kill(p, true, worker.KillOptions{Grace: shorter(p, grace)})
		}
	}
}

// shorter is the grace where it is less than the pod's own, else nil: a worker
// would take a longer one, too.
func shorter(p *v1.Pod, grace *int64) *int64 {
	if own := p.Spec.TerminationGracePeriodSeconds; grace != nil && own != nil && *own <= *grace {
		return nil
	}
	return grace
}

// dropped forgets a life of a pod of which nothing is left, and releases its
// name unless another pod needs it. e is nil if it never had anything.
func (n *Node) dropped(a lifecycle.Drop, e *entry) {
	if a.Ran {
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

// reportWait reports what a pod waits for that podctl does not end by itself.
func (n *Node) reportWait(a lifecycle.ReportWait) {
	w := a.Wait
	switch {
	case w.Reason.Blocked():
		n.events.send(a.Pod, event.Event{Reason: event.Delayed, Warning: true, Message: w.Err.Error()})
	case w.Err != nil:
		n.log.Warn("start pod", "pod", lifecycle.Desired{Pod: a.Pod}.FullName(), "uid", a.Pod.UID, "reason", w.Reason, "err", w.Err)
	}
}
