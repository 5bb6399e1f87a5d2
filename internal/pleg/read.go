package pleg

import (
	"context"
	"errors"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

// statusRead is one read of a pod's status, caused by a listing.
type statusRead struct {
	rec    *record
	pod    *pod.Pod
	stamp  stamp
	source Source
	events []Event
	call   *call // nil while it waits in the queue
	began  time.Time
}

// startReads starts waiting reads in order. Pods that hung the last time get at
// most half of the slots: they are likely to hang again.
func (l *loop) startReads(now time.Time) {
	waiting := l.queue[:0]
	for _, r := range l.queue {
		slow := !r.rec.hungSince.IsZero()
		switch {
		case len(l.calls) >= l.opts.Parallel, slow && l.slow >= max(1, l.opts.Parallel/2):
			waiting = append(waiting, r)
		default:
			l.startRead(r, slow, now)
		}
	}
	clear(l.queue[len(waiting):])
	l.queue = waiting
}

func (l *loop) startRead(r *statusRead, slow bool, now time.Time) {
	r.began = now
	var st *pod.Status
	about := Call{Op: opPodStatus, PodUID: r.pod.UID, Namespace: r.pod.Namespace, Name: r.pod.Name, Since: now}
	r.call = l.startCall(about, func(ctx context.Context) (err error) {
		st, err = l.rt.PodStatus(ctx, r.pod)
		return err
	}, func(err error, late bool) {
		if late {
			r.rec.stuck = false
			return
		}
		now := l.opts.Now()
		l.opts.Observer.StatusRead(now.Sub(r.began), err)
		switch {
		case r.rec.reading != r: // the pod has gone since
		case err != nil:
			l.readFailed(r, err, now)
		default:
			l.readDone(r, st, now)
		}
	})
	if slow {
		r.call.slow = true
		l.slow++
	}
}

// dropRead forgets a read whose pod is gone.
func (l *loop) dropRead(r *statusRead) {
	if r.call != nil {
		r.call.cancel()
	} else if i := slices.Index(l.queue, r); i >= 0 {
		l.queue = slices.Delete(l.queue, i, i+1)
	}
}

// readDone caches the status, sends the events and advances the record.
func (l *loop) readDone(r *statusRead, read *pod.Status, now time.Time) {
	rec := r.rec
	rec.reading, rec.lastErr = nil, ""
	l.clearHang(rec)
	st := *read
	st.At = r.stamp.at // a status is as new as the listing that named its containers
	st.IPs = l.keepIPs(rec.uid, &st)
	rec.old, rec.unread = r.pod, rec.seen != r.pod
	l.cache.set(rec.uid, &st, nil, r.stamp, rec.unread)
	events := r.events
	if len(events) == 0 {
		events = []Event{{PodUID: rec.uid, Type: PodSync, Namespace: r.pod.Namespace, Name: r.pod.Name}}
	}
	l.deliver(rec, events, Event{Source: r.source, At: r.stamp.at, Pod: r.pod, Status: &st})
	if rec.unread {
		l.evaluate(rec, now)
	}
}

// keepIPs returns the pod's addresses: the last known ones if all of its
// sandboxes are dead (pkg/kubelet/pleg/generic.go, getPodIPs).
func (l *loop) keepIPs(uid types.UID, st *pod.Status) []string {
	ready := func(s *pod.SandboxStatus) bool { return s.State == pod.Running }
	if len(st.IPs) > 0 || slices.ContainsFunc(st.Sandboxes, ready) {
		return st.IPs
	}
	if last := l.cache.get(uid).status; last != nil {
		return last.IPs
	}
	return nil
}

func (l *loop) readFailed(r *statusRead, err error, now time.Time) {
	rec := r.rec
	rec.reading = nil
	if errors.Is(err, errDeadline) {
		rec.stuck = true
	}
	var sync []Event
	if now.Before(r.began.Add(l.opts.CallDeadline)) {
		l.clearHang(rec)
	} else {
		if rec.hungSince.IsZero() {
			sync = []Event{{PodUID: rec.uid, Type: PodSync, Namespace: r.pod.Namespace, Name: r.pod.Name, Source: r.source, At: r.stamp.at, Pod: r.pod}}
			rec.hungSince = r.began
			l.health.podHangs(Call{Op: opPodStatus, PodUID: rec.uid, Namespace: r.pod.Namespace, Name: r.pod.Name, Since: r.began})
		}
		err = inFlightError(r.pod, now.Sub(rec.hungSince))
	}
	l.cacheReadError(rec, r.pod, r.stamp, err, now)
	l.subs.send(sync) // so that the error shows before the pod's next resync
	if rec.unread {
		l.evaluate(rec, now)
	}
}

// cacheReadError caches the error of reading p's status. The record is unchanged,
// and the status is read again at the pod's next relist.
func (l *loop) cacheReadError(rec *record, p *pod.Pod, s stamp, err error, now time.Time) {
	if text := err.Error(); rec.lastErr != text && (rec.lastErr == "" || rec.hungSince.IsZero()) {
		l.opts.Log.Warn("status not read", "op", "PodStatus", "pod", pod.DisplayName(p.Namespace, p.Name), "uid", p.UID, "err", err)
		rec.lastErr = text
	}
	rec.unread = rec.seen != p
	l.cache.set(rec.uid, nil, err, s, rec.unread)
	rec.reinspect = true
	l.retryLater(rec.uid, now)
}

// clearHang records that reading the pod's status does not hang, or no longer.
func (l *loop) clearHang(rec *record) {
	if !rec.hungSince.IsZero() {
		rec.hungSince = time.Time{}
		l.health.podAnswers(rec.uid)
	}
}
