package pleg

import "time"

// holdsBack reports whether the status of a changed pod is not read yet: a caller
// is still changing it, no caller waits for it, and the listing that
// shows the change was not requested.
func (l *loop) holdsBack(rec *record, now time.Time) bool {
	return rec.source != FromRequest && !l.box.heldUntil(rec.uid, now).IsZero() && !l.cache.awaited(rec.uid)
}

// readHeldBack reads the statuses of pods whose hold has ended, except those that are
// relisted for it.
func (l *loop) readHeldBack(now time.Time) {
	for uid := range l.heldBack {
		rec := l.records[uid]
		_, marked := l.dirty[uid]
		switch {
		case rec == nil || rec.seen == nil || rec.reading != nil:
			delete(l.heldBack, uid)
		case marked || l.singles[uid] != nil:
		case !l.holdsBack(rec, now):
			delete(l.heldBack, uid)
			l.evaluate(rec, now)
		}
	}
}
