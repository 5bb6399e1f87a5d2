package node

import (
	"context"
	"errors"
	"time"

	"github.com/podctl/podctl/internal/admission"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/podrecord"
	"github.com/podctl/podctl/internal/worker"
)

// claimAll claims the pods' names, and rejects those whose name another podctl
// has.
func (n *Node) claimAll(pods []Desired) (claimed []Desired) {
	for _, d := range pods {
		if err := n.claim(pod.FullNameOf(d.Pod)); err != nil {
			n.reject(d, err)
			continue
		}
		claimed = append(claimed, d)
	}
	return claimed
}

// letIn starts a pod unless something that was found stands in its way.
func (n *Node) letIn(ctx context.Context, d Desired, adopt bool, found found) bool {
	if p, ok := found.foreign[d.Pod.UID]; ok {
		n.reject(d, &ForeignPodError{Pod: p})
		return false
	}
	if err, ok := found.others[d.Pod.UID]; ok {
		n.reject(d, err)
		return false
	}
	if found.unread[d.Pod.UID] || found.unreadNames[pod.FullNameOf(d.Pod)] {
		return false // the next housekeeping tries again
	}
	return n.start(ctx, d, adopt)
}

// start lets a pod in whose name is claimed: its worker begins, with what the
// runtime already holds where adopt says so. A pod that had ended, or was
// being ended, when its podctl died, may have only its record left. Any other
// has to be admitted; false is a pod that was not let in, or not now.
func (n *Node) start(ctx context.Context, d Desired, adopt bool) bool {
	rec := podrecord.Read(n.opts.Facts.Dir(d.Pod.UID))
	if !adopt {
		rec = rec.Alone(d.Document, time.Now())
	}
	if n.takeHold(d.Pod.UID) {
		rec = n.signed(&entry{want: d}, podrecord.Record{Held: true, StopRequested: time.Now()})
		if err := podrecord.Create(n.opts.Facts.Dir(d.Pod.UID), rec); err != nil {
			n.log.Warn("the pod may start again if podctl is killed", "uid", d.Pod.UID, "err", err)
		}
	}
	adopt = adopt || rec.Stopped()
	if !adopt && !n.admitted(ctx, d) {
		return false
	}
	spec := d.Pod
	if rec.Phase != "" {
		spec = spec.DeepCopy()
		spec.Status.Phase, spec.Status.Reason, spec.Status.Message = rec.Phase, rec.Reason, rec.Message
	}
	e := &entry{want: Desired{Pod: spec, Document: d.Document}, desired: true, adopted: adopt, record: rec}
	if adopt {
		e.touched = time.Now() // by whoever made it
	}
	if !n.admit(e) {
		return true
	}
	if !adopt {
		n.event(spec, ReasonStarting, false, "starting")
		n.workers.Update(worker.Update{Pod: spec, Type: worker.TypeCreate, Exclusive: true})
		n.stopHeld(spec)
		return true
	}
	n.event(spec, ReasonAdopted, false, "%s", adoption(rec))
	n.workers.Adopt(spec, true)
	if rec.StopRequested.IsZero() {
		n.workers.Update(worker.Update{Pod: spec, Type: worker.TypeSync, Exclusive: true})
		n.stopHeld(spec)
		return true
	}
	if rec.Held {
		n.workers.Kill(spec, true, worker.KillOptions{Grace: rec.GraceLeft(time.Now())})
		return true
	}
	// It was being stopped when its podctl died: that is brought to its end,
	// and then the pod starts anew, because it is asked for.
	n.mu.Lock()
	n.entries[d.Pod.UID].fresh = true
	n.mu.Unlock()
	n.workers.Kill(spec, true, worker.KillOptions{Grace: rec.GraceLeft(time.Now())})
	n.workers.Update(worker.Update{Pod: spec, Type: worker.TypeCreate, Exclusive: true})
	return true
}

// admitted asks whether this node takes a pod that is new to it, and rejects
// one that it does not. While that cannot be told, the pod waits for the next
// housekeeping.
func (n *Node) admitted(ctx context.Context, d Desired) bool {
	err := n.admission(ctx, d.Pod)
	if _, ok := errors.AsType[*admission.Error](err); ok {
		n.reject(d, err)
	} else if err != nil && !errors.Is(err, errNotNow) {
		n.log.Warn("admit pod", "pod", pod.FullNameOf(d.Pod), "uid", d.Pod.UID, "err", err)
	}
	return err == nil
}

// reject takes note that a desired pod may not start. One that is not admitted
// has failed, with the kubelet's reason.
func (n *Node) reject(d Desired, why error) {
	e := &entry{want: d, desired: true, rejected: why}
	reason, message := ReasonRejected, why.Error()
	if refused, ok := errors.AsType[*admission.Error](why); ok {
		reason, message = refused.Reason, refused.Message
		n.opts.Observer.Rejected(reason)
		e.status = refused.Status(d.Pod)
	}
	if !n.admit(e) {
		return
	}
	n.event(d.Pod, reason, true, "%s", message)
	n.changed()
}
