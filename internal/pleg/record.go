package pleg

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

// record is what the loop knows about one pod.
type record struct {
	uid types.UID
	// old is the listing that the last events led to: what the next ones are
	// computed from. nil: none, or the pod was absent.
	old *pod.Pod
	// seen is the newest listing of the pod, nil if it was absent from it. Its
	// stamp never goes back.
	seen   *pod.Pod
	stamp  stamp
	source Source
	// first is the pod at the end of the first full relist, until its initial
	// events have been sent.
	first *pod.Pod
	// present: a listing since the last absence had the pod.
	present bool
	// reading is the status read in flight or in the queue, nil if none is.
	reading *statusRead
	// unread: as in the cache's entry.
	unread bool
	// reinspect: read the status at the next relist even if it shows no change.
	reinspect bool
	// hungSince is when the first read began of those in a row that passed
	// their deadlines; zero if the last one did not. stuck: such a call has
	// not even returned.
	hungSince time.Time
	stuck     bool
	// lastErr is the last error of a read, so that a lasting one is logged once.
	lastErr string
}

// observation is what one listing shows of a pod.
type observation struct {
	pod    *pod.Pod // nil: absent
	stamp  stamp
	source Source
	full   bool // by a full relist
	live   bool // a live hint triggered it
}

// observe applies a listing of the pod, unless a later one has been applied
// already. It reports whether the pod has changed since the previous one.
func (l *loop) observe(uid types.UID, s observation, now time.Time) (changed bool) {
	rec := l.records[uid]
	if rec == nil {
		rec = &record{uid: uid}
		l.records[uid] = rec
	}
	if s.stamp.seq < rec.stamp.seq {
		return false
	}
	if changed = !isSame(rec.seen, s.pod); changed {
		l.coverage.podChanged(uid, s.stamp.seq, s.full, s.live, now.Add(l.opts.Period))
	}
	if !l.listed {
		rec.first = s.pod
	}
	last := rec.seen
	rec.seen, rec.stamp, rec.source = s.pod, s.stamp, s.source
	if changed {
		l.indexIDs(rec, last)
	}
	if s.pod == nil {
		l.podGone(rec, last)
	} else {
		rec.present = true
		l.evaluate(rec, now)
	}
	return changed
}

// evaluate decides what follows from the newest listing: nothing, which makes
// the cached status as new as the listing, or reading the status.
func (l *loop) evaluate(rec *record, now time.Time) {
	if rec.reading != nil {
		l.markOutdated(rec) // evaluated again when that has ended
		return
	}
	events := Diff(rec.old, rec.seen)
	if len(events) == 0 && wasCreated(rec.old, rec.seen) {
		events = []Event{{PodUID: rec.uid, Type: ContainerChanged}}
	}
	if len(events) == 0 && !rec.reinspect {
		rec.old = rec.seen
		if rec.unread || rec.source != FromRelist {
			rec.unread = false
			l.cache.unchanged(rec.uid, rec.stamp)
		}
		return
	}
	if rec.stuck {
		l.cacheReadError(rec, rec.seen, rec.stamp, inFlightError(rec.seen, now.Sub(rec.hungSince)), now)
		return
	}
	l.markOutdated(rec)
	if l.isHeldBack(rec, now) {
		l.heldBack[rec.uid] = struct{}{}
		return
	}
	rec.reinspect = false
	delete(l.retry, rec.uid)
	rec.reading = &statusRead{rec: rec, pod: rec.seen, stamp: rec.stamp, source: rec.source, events: events}
	l.queue = append(l.queue, rec.reading)
}

// markOutdated marks the cache entry as older than a change.
func (l *loop) markOutdated(rec *record) {
	if !rec.unread {
		rec.unread = true
		l.cache.changed(rec.uid)
	}
}

// podGone clears the record of a pod that the runtime no longer lists; last is the
// last listing that had it. Events that wait for a read in flight are sent
// without a status.
func (l *loop) podGone(rec *record, last *pod.Pod) {
	var events []Event
	if r := rec.reading; r != nil {
		events, rec.old, rec.reading = r.events, r.pod, nil
		l.dropRead(r)
	}
	events = append(events, Diff(rec.old, nil)...)
	if len(events) == 0 && rec.present {
		events = []Event{{PodUID: rec.uid, Type: PodSync}}
		if last != nil {
			events[0].Namespace, events[0].Name = last.Namespace, last.Name
		}
	}
	l.cache.absent(rec.uid, rec.stamp)
	l.clearHang(rec)
	rec.old, rec.present, rec.unread, rec.reinspect, rec.lastErr = nil, false, false, false, ""
	delete(l.retry, rec.uid)
	l.deliver(rec, events, Event{Source: rec.source, At: rec.stamp.at, Pod: last})
}

// deliver sends events to the subscribers, except those that the kubelet does
// not send either. how has the fields that they share.
func (l *loop) deliver(rec *record, events []Event, how Event) {
	first := phases(rec.first)
	kept := events[:0]
	for _, e := range events {
		if e.Type != ContainerChanged {
			e.Source, e.At, e.Pod, e.Status = how.Source, how.At, how.Pod, how.Status
			e.Initial = e.Type != PodSync && slices.Contains(transition(absent, first[e.ID]), e.Type)
			kept = append(kept, e)
		}
	}
	rec.first = nil
	l.subs.send(kept)
}

// isHeldBack reports whether the status of a changed pod is not read yet: a caller
// is still changing it, no caller waits for it, and the listing that
// shows the change was not requested.
func (l *loop) isHeldBack(rec *record, now time.Time) bool {
	return rec.source != FromRequest && !l.inbox.heldUntil(rec.uid, now).IsZero() && !l.cache.isAwaited(rec.uid)
}

// readHeldBack reads the statuses of pods whose hold has ended, except those that are
// relisted for it.
func (l *loop) readHeldBack(now time.Time) {
	for uid := range l.heldBack {
		rec := l.records[uid]
		_, requested := l.requested[uid]
		switch {
		case rec == nil || rec.seen == nil || rec.reading != nil:
			delete(l.heldBack, uid)
		case requested || l.podRelists[uid] != nil:
		case !l.isHeldBack(rec, now):
			delete(l.heldBack, uid)
			l.evaluate(rec, now)
		}
	}
}
