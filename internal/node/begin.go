package node

import (
	"context"
	"errors"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/desired/manifest"
	"github.com/podctl/podctl/internal/node/admission"
	"github.com/podctl/podctl/internal/node/lifecycle"
	"github.com/podctl/podctl/internal/node/poddir"
	"github.com/podctl/podctl/internal/owners/owner"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
)

// claimNames claims the names of the pods that are to start. settle returns those whose
// name is claimed, and must be called.
func (n *Node) claimNames(ctx context.Context, uids []types.UID, desired map[types.UID]Desired) (settle func() []Desired) {
	names := make([]string, len(uids))
	for i, uid := range uids {
		names[i] = desired[uid].FullName()
	}
	locked := n.locks.ClaimAll(names)
	return func() []Desired { return n.applyClaims(ctx, uids, desired, locked()) }
}

// applyClaims applies to each pod how its claim ended.
func (n *Node) applyClaims(ctx context.Context, uids []types.UID, desired map[types.UID]Desired, errs []error) (claimed []Desired) {
	for i, uid := range uids {
		d := desired[uid]
		if err := errs[i]; err != nil {
			n.apply(ctx, uid, claimFailed(err))
			continue
		}
		n.apply(ctx, uid, lifecycle.Claim{})
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

// deferStart has a pod wait and releases its name.
func (n *Node) deferStart(ctx context.Context, d Desired, why lifecycle.Defer) {
	n.apply(ctx, d.UID(), why)
	n.names.release(d.FullName())
}

// startPod starts a pod whose name is claimed, unless something keeps it from that, and
// reports whether it does. It does nothing for a pod that was found and is stopped first.
func (n *Node) startPod(ctx context.Context, d Desired, adopt bool, found *lifecycle.Findings, listed []*pod.Pod) bool {
	n.pods.mu.Lock()
	e := n.pods.get(d.UID())
	starting := e != nil && e.Phase == lifecycle.Starting
	stopNext := starting && e.StopNext
	n.pods.mu.Unlock()
	if !starting {
		return false
	}
	if why, against := found.DeferReason(d); against {
		n.deferStart(ctx, d, why)
		return false
	}
	rec, err := n.recordFor(d, adopt)
	if err != nil {
		n.deferStart(ctx, d, lifecycle.Defer{Reason: lifecycle.DirectoryInUse, Err: err})
		return false
	}
	if !adopt && rec.Stopped() {
		rec = rec.WithoutRuntimeState(d.Document, manifest.Identity(d.Document), time.Now())
	}
	if stopNext {
		rec = n.records.withOwner(d, poddir.Record{StayStopped: true, StopRequested: time.Now()})
		if err := poddir.CreateRecord(n.opts.Facts.Dir(d.UID()), rec); err != nil {
			n.log.Warn("the pod may start again if podctl is killed", "uid", d.UID(), "err", err)
		}
	}
	mode := lifecycle.DecideStart(adopt, rec)
	if mode == lifecycle.New {
		err := n.admission(ctx, d.Pod)
		if err == nil {
			err = n.devices.assign(ctx, d.Pod, listed)
		}
		if err != nil {
			n.deferOrReject(ctx, d, err)
			return false
		}
		release, err := n.ports.reserve(ctx, d.Pod, listed)
		if err != nil {
			reason := lifecycle.HostPortInUse
			if isUnanswered(err) {
				reason = lifecycle.RuntimeUnavailable
			}
			n.deferStart(ctx, d, lifecycle.Defer{Reason: reason, Err: err})
			return false
		}
		defer release()
		for _, text := range n.ports.shared(d.Pod) {
			n.events.send(d.Pod, event.Event{Reason: event.HostPortShared, Warning: true, Message: text})
		}
	} else {
		n.devices.restore(d.Pod, listed)
	}
	stoppedBefore := (mode == lifecycle.StayStopped || rec.Ended()) && !slices.ContainsFunc(listed, func(p *pod.Pod) bool { return p.UID == d.UID() && p.MayBeRunning() })
	started := n.activate(ctx, d, lifecycle.Begin{Mode: mode, Pod: rec.WithStatus(d.Pod), StopNext: stopNext}, rec, stoppedBefore)
	if started && mode == lifecycle.New {
		n.opts.Observer.Admitted(d.Pod)
	}
	return started
}

// activate makes a starting pod active, and reports whether it did. While draining a new
// one does not become active; one that runs already does, for the drain to terminate it.
func (n *Node) activate(ctx context.Context, d Desired, ev lifecycle.Begin, rec poddir.Record, stoppedBefore bool) bool {
	n.pods.mu.Lock()
	if n.pods.drain != nil && ev.Mode == lifecycle.New {
		n.pods.mu.Unlock()
		return false
	}
	w := n.pods.step(d.UID(), ev)
	e := n.pods.get(d.UID())
	active := e.hasWorker()
	if active {
		e.record, e.stoppedBefore = rec, stoppedBefore
		n.pods.accountResources(d.UID())
		if ev.Mode != lifecycle.New {
			e.touched = time.Now() // by the podctl that created it
		}
	}
	n.pods.mu.Unlock()
	n.carryOut(ctx, w)
	if !active {
		n.names.release(d.FullName())
		n.wake.signal()
	}
	return active
}

// deferOrReject rejects a pod that is not admitted, and has it wait if admission cannot
// be decided yet.
func (n *Node) deferOrReject(ctx context.Context, d Desired, err error) {
	refused, rejected := errors.AsType[*admission.Error](err)
	_, inUse := errors.AsType[*DevicesInUseError](err)
	switch {
	case rejected:
		if refused.HostPort != nil {
			refused.HostPort.ManagedBy(n.opts.Instance)
		}
		n.pods.mu.Lock()
		w := n.pods.step(d.UID(), lifecycle.Reject{Err: err})
		if e := n.pods.get(d.UID()); e.Phase == lifecycle.Rejected {
			e.status = refused.Status(d.Pod)
		}
		n.pods.mu.Unlock()
		n.carryOut(ctx, w)
		n.names.release(d.FullName())
	case errors.Is(err, errMakingRoom):
		n.deferStart(ctx, d, lifecycle.Defer{Reason: lifecycle.MakingRoom})
	case inUse:
		n.deferStart(ctx, d, lifecycle.Defer{Reason: lifecycle.DevicesInUse, Err: err})
	default:
		n.deferStart(ctx, d, lifecycle.Defer{Reason: lifecycle.RuntimeUnavailable, Err: err})
	}
}

// reportRejection reports a pod that was not admitted, with the kubelet's
// reason.
func (n *Node) reportRejection(a lifecycle.ReportRejection) {
	if refused, ok := errors.AsType[*admission.Error](a.Err); ok {
		n.opts.Observer.Rejected(refused.Reason)
		n.events.send(a.Pod, event.Event{Reason: refused.Reason, Warning: true, Message: refused.Message, HostPort: refused.HostPort})
	}
	n.watchers.notifyChanged()
}

// admission returns why a new pod may not start. The runtime is asked for its
// status only where the pod needs it; if it does not answer, the error is no
// admission.Error, and the pod waits.
func (n *Node) admission(ctx context.Context, p *v1.Pod) error {
	rt, err := n.features.forAdmission(ctx, p)
	if err != nil {
		return err
	}
	if err := n.opts.Admission.Check(p, rt); err != nil {
		return err
	}
	now, err := n.preemption.fit(ctx, p)
	if err == nil && !now {
		err = errMakingRoom
	}
	return err
}
