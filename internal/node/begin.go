package node

import (
	"context"
	"errors"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/admission"
	"github.com/podctl/podctl/internal/event"
	"github.com/podctl/podctl/internal/lifecycle"
	"github.com/podctl/podctl/internal/owner"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/podrecord"
)

// claimAll claims the names of the pods that are to start. settle returns those whose
// name is claimed, and must be called.
func (n *Node) claimAll(ctx context.Context, uids []types.UID, desired map[types.UID]Desired) (settle func() []Desired) {
	names := make([]string, len(uids))
	for i, uid := range uids {
		names[i] = desired[uid].FullName()
	}
	locked := n.locks.ClaimAll(names)
	return func() []Desired { return n.claimed(ctx, uids, desired, locked()) }
}

// claimed tells each pod how its claim ended.
func (n *Node) claimed(ctx context.Context, uids []types.UID, desired map[types.UID]Desired, errs []error) (claimed []Desired) {
	for i, uid := range uids {
		d := desired[uid]
		if err := errs[i]; err != nil {
			n.tell(ctx, uid, claimFailed(err))
			continue
		}
		n.tell(ctx, uid, lifecycle.Claim{})
		claimed = append(claimed, d)
	}
	return claimed
}

func claimFailed(err error) lifecycle.Defer {
	if _, held := errors.AsType[*owner.HeldError](err); held {
		return lifecycle.Defer{Reason: lifecycle.NameHeld, Err: err}
	}
	return lifecycle.Defer{Reason: lifecycle.LockFailed, Err: err}
}

// postpone has a pod whose name was claimed wait.
func (n *Node) postpone(ctx context.Context, d Desired, why lifecycle.Defer) {
	n.tell(ctx, d.UID(), why)
	n.names.release(d.FullName())
}

// begin finds out how a pod begins whose name is claimed, and reports whether
// it does. Nothing is done for one that was found to be stopped first.
func (n *Node) begin(ctx context.Context, d Desired, adopt bool, found *lifecycle.Findings, held []*pod.Pod) bool {
	n.pods.mu.Lock()
	e := n.pods.get(d.UID())
	starting := e != nil && e.Phase == lifecycle.Starting
	hold := starting && e.HoldNext
	n.pods.mu.Unlock()
	if !starting {
		return false
	}
	if why, against := found.Against(d); against {
		n.postpone(ctx, d, why)
		return false
	}
	rec, err := n.recordFor(d, adopt)
	if err != nil {
		n.postpone(ctx, d, lifecycle.Defer{Reason: lifecycle.DirectoryHeld, Err: err})
		return false
	}
	if !adopt {
		rec = rec.Alone(d.Document, time.Now())
	}
	if hold {
		rec = n.records.withOwner(d, podrecord.Record{Held: true, StopRequested: time.Now()})
		if err := podrecord.Create(n.opts.Facts.Dir(d.UID()), rec); err != nil {
			n.log.Warn("the pod may start again if podctl is killed", "uid", d.UID(), "err", err)
		}
	}
	how := lifecycle.Decide(adopt, rec)
	if how == lifecycle.New {
		err := n.admission(ctx, d.Pod)
		if err == nil {
			err = n.devices.assign(ctx, d.Pod, held)
		}
		if err != nil {
			n.notAdmitted(ctx, d, err)
			return false
		}
		release, err := n.ports.reserve(ctx, d.Pod, held)
		if err != nil {
			reason := lifecycle.HostPortHeld
			if unanswered(err) {
				reason = lifecycle.RuntimeUnavailable
			}
			n.postpone(ctx, d, lifecycle.Defer{Reason: reason, Err: err})
			return false
		}
		defer release()
	} else {
		n.devices.restore(d.Pod, held)
	}
	return n.enter(ctx, d, lifecycle.Begin{How: how, Pod: endedAs(d.Pod, rec), Held: hold}, rec)
}

// endedAs is the pod, with the phase in which it has ended before.
func endedAs(p *v1.Pod, rec podrecord.Record) *v1.Pod {
	if rec.Phase == "" {
		return p
	}
	p = p.DeepCopy()
	p.Status.Phase, p.Status.Reason, p.Status.Message = rec.Phase, rec.Reason, rec.Message
	return p
}

// enter makes a pod that is starting active. It does not once all pods are to
// go: the next reconcile drops it.
func (n *Node) enter(ctx context.Context, d Desired, ev lifecycle.Begin, rec podrecord.Record) bool {
	n.pods.mu.Lock()
	if n.pods.drain != nil {
		n.pods.mu.Unlock()
		return false
	}
	w := n.pods.step(d.UID(), ev)
	e := n.pods.get(d.UID())
	began := e.hasWorker()
	if began {
		e.record = rec
		if ev.How != lifecycle.New {
			e.touched = time.Now() // by the podctl that created it
		}
	}
	n.pods.mu.Unlock()
	n.carryOut(ctx, w)
	if !began {
		n.names.release(d.FullName())
		n.wake.signal()
	}
	return began
}

// notAdmitted has a pod wait while it cannot be known whether it is admitted,
// and rejects one that is not.
func (n *Node) notAdmitted(ctx context.Context, d Desired, err error) {
	refused, rejected := errors.AsType[*admission.Error](err)
	_, inUse := errors.AsType[*DevicesInUseError](err)
	switch {
	case rejected:
		n.pods.mu.Lock()
		w := n.pods.step(d.UID(), lifecycle.Reject{Err: err})
		if e := n.pods.get(d.UID()); e.Phase == lifecycle.Rejected {
			e.status = refused.Status(d.Pod)
		}
		n.pods.mu.Unlock()
		n.carryOut(ctx, w)
		n.names.release(d.FullName())
	case errors.Is(err, errNotNow):
		n.postpone(ctx, d, lifecycle.Defer{Reason: lifecycle.MakingRoom})
	case inUse:
		n.postpone(ctx, d, lifecycle.Defer{Reason: lifecycle.DevicesInUse, Err: err})
	default:
		n.postpone(ctx, d, lifecycle.Defer{Reason: lifecycle.RuntimeUnavailable, Err: err})
	}
}

// reportRejection reports a pod that was not admitted, with the kubelet's
// reason.
func (n *Node) reportRejection(a lifecycle.ReportRejection) {
	if refused, ok := errors.AsType[*admission.Error](a.Err); ok {
		n.opts.Observer.Rejected(refused.Reason)
		n.events.send(a.Pod, event.Event{Reason: refused.Reason, Warning: true, Message: refused.Message})
	}
	n.watchers.notifyChanged()
}
