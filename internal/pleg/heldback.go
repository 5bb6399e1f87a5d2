package pleg

import "time"

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
		_, marked := l.requested[uid]
		switch {
		case rec == nil || rec.seen == nil || rec.reading != nil:
			delete(l.heldBack, uid)
		case marked || l.podRelists[uid] != nil:
		case !l.isHeldBack(rec, now):
			delete(l.heldBack, uid)
			l.evaluate(rec, now)
		}
	}
}
