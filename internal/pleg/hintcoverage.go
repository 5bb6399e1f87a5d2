package pleg

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// coverageNeeded is the number of consecutive changes with a hint after which hints
// replace the period for the first time.
const coverageNeeded = 3

// hintCoverage decides whether hints may replace the period: whether the runtime
// reports every change. The zero value is not proven, its stream is closed.
type hintCoverage struct {
	// session is that of the stream, and open whether it is open.
	session   int
	open      bool
	broadcast bool
	// caughtUp is the number of the full relist that caught up with what
	// happened before the stream opened; only later ones count. 0: none has.
	caughtUp uint64
	openSeq  uint64
	// streak is the number of consecutive changes with a hint. Each time that
	// proven hints fail, the number needed doubles: a runtime that never reports
	// some changes (CRI-O: the removal of a pod) does not regain trust with each
	// pod that starts.
	streak, failures int
	// doubts are changes that a full relist found before their hint came, each
	// with the time until which it may still come. One that does not ends the streak.
	doubts map[types.UID]time.Time
	// missed counts the doubts that were confirmed, in all sessions.
	missed int
}

// setStream applies the state of the stream; seq is the last list call that has
// begun. It reports whether changes may have been missed, so that a full relist must
// catch up.
func (p *hintCoverage) setStream(s streamState, seq uint64) (gap bool) {
	if s.session == p.session && s.open == p.open {
		return false
	}
	*p = hintCoverage{session: s.session, open: s.open, broadcast: s.broadcast, openSeq: seq, missed: p.missed}
	return true
}

// fullRelistDone records that a full relist which began as number seq has been applied.
func (p *hintCoverage) fullRelistDone(seq uint64) {
	if p.open && p.caughtUp == 0 && seq > p.openSeq {
		p.caughtUp = seq
	}
}

// isCaughtUp reports whether the stream is open and a full relist has caught up.
func (p *hintCoverage) isCaughtUp() bool { return p.open && p.caughtUp != 0 }

// podHinted records a live hint of the pod.
func (p *hintCoverage) podHinted(uid types.UID) { delete(p.doubts, uid) }

// podChanged records that list call number seq has found a change of the pod. full: it
// was a full relist; live: a live hint had triggered it. If a full relist found the
// change first, its hint may come until the time given.
func (p *hintCoverage) podChanged(uid types.UID, seq uint64, full, live bool, until time.Time) {
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

// isProven reports whether hints may replace the period.
func (p *hintCoverage) isProven(now time.Time) bool {
	for uid, until := range p.doubts {
		if now.After(until) {
			if p.streak >= p.streakNeeded() {
				p.failures++
			}
			p.streak = 0
			p.missed++
			delete(p.doubts, uid)
		}
	}
	return p.open && p.broadcast && p.caughtUp != 0 && p.streak >= p.streakNeeded() && len(p.doubts) == 0
}

// streakNeeded returns the streak after which hints are trusted.
func (p *hintCoverage) streakNeeded() int { return coverageNeeded << p.failures }
