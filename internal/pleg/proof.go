package pleg

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// proofNeeded is the number of consecutive changes with a hint before hints
// replace the period for the first time.
const proofNeeded = 3

// proof decides whether hints may replace the period. The zero value is
// unproved, its stream closed.
type proof struct {
	// session of the stream that this is about, and whether it is open.
	session   int
	open      bool
	broadcast bool
	// caughtUp is the number of the full relist that caught up with what
	// happened before the stream opened; only later ones count. 0: none has.
	caughtUp uint64
	openSeq  uint64
	// streak is the number of consecutive changes with a hint. Each time that
	// proved hints fail, the number needed doubles: a runtime that never reports
	// some changes (CRI-O: the removal of a pod) does not regain trust with each
	// pod that starts.
	streak, failures int
	// doubts are changes that a full relist found before their hint came, each
	// with the time until which it may still come. One that does not ends the streak.
	doubts map[types.UID]time.Time
	// missed counts the doubts that were confirmed, in all sessions.
	missed int
}

// sync applies the state of the stream; seq is the last list call that has
// begun. It reports whether something may have been missed, so that a full
// relist must catch up.
func (p *proof) sync(s stream, seq uint64) (gap bool) {
	if s.session == p.session && s.open == p.open {
		return false
	}
	*p = proof{session: s.session, open: s.open, broadcast: s.broadcast, openSeq: seq, missed: p.missed}
	return true
}

// relisted: a full relist that began as number seq has been applied.
func (p *proof) relisted(seq uint64) {
	if p.open && p.caughtUp == 0 && seq > p.openSeq {
		p.caughtUp = seq
	}
}

// upToDate reports whether the stream is open and a full relist has caught up.
func (p *proof) upToDate() bool { return p.open && p.caughtUp != 0 }

// hinted: a live hint of the pod has come.
func (p *proof) hinted(uid types.UID) { delete(p.doubts, uid) }

// changed: list call number seq has found a change of the pod. full: it was a
// full relist; live: a live hint had triggered it. The hint
// of a change that a full relist found first may come until the time given.
func (p *proof) changed(uid types.UID, seq uint64, full, live bool, until time.Time) {
	switch {
	case p.caughtUp == 0 || seq <= p.caughtUp:
	case live:
		p.streak++
	case full:
		if p.doubts == nil {
			p.doubts = map[types.UID]time.Time{}
		}
		if _, ok := p.doubts[uid]; !ok {
			p.doubts[uid] = until
		}
	}
}

// proved reports whether hints may replace the period.
func (p *proof) proved(now time.Time) bool {
	for uid, until := range p.doubts {
		if now.After(until) {
			if p.streak >= p.needed() {
				p.failures++
			}
			p.streak = 0
			p.missed++
			delete(p.doubts, uid)
		}
	}
	return p.open && p.broadcast && p.caughtUp != 0 && p.streak >= p.needed() && len(p.doubts) == 0
}

// needed is the streak that counts as proof.
func (p *proof) needed() int { return proofNeeded << p.failures }
