package tape

import (
	"maps"
	"slices"

	"github.com/podctl/podctl/internal/pleg"
)

// addRecordedCall applies that a call began in the live run. The loop has made it
// already, or makes it now.
func (p *player) addRecordedCall(r *recordedCall) {
	p.recorded[r.N] = r
	if p.match(r) {
		return
	}
	p.step()
	if r.by != nil || r.Op == opStatus {
		return
	}
	p.report.Unasked++
	source := pleg.FromRelist
	if p.open {
		source = pleg.FromHint
	}
	p.s.Relist(p.now, r.UID, source)
	p.step()
}

// match matches a call of the tape with the loop's call that corresponds to it, and
// reports whether there is one.
func (p *player) match(r *recordedCall) bool {
	for _, w := range p.waiting {
		if w.as == nil && r.matches(w) {
			w.as, r.by = r, w
			return true
		}
	}
	return false
}

func (r *recordedCall) matches(w *loopCall) bool { return w.Op == r.Op && w.PodUID == r.UID }

// addLoopCall applies that the loop has made a call. That of the tape may have come
// shortly before.
func (p *player) addLoopCall(w *loopCall) {
	p.waiting = append(p.waiting, w)
	for _, n := range slices.Sorted(maps.Keys(p.recorded)) {
		if r := p.recorded[n]; r.by == nil && r.matches(w) {
			w.as, r.by = r, w
			return
		}
	}
	for i, u := range p.unasked {
		if u.matches(w) && p.now.Sub(u.answeredAt) <= p.slack {
			p.unasked = slices.Delete(p.unasked, i, i+1)
			p.report.Unasked--
			p.answerCall(w, u.answer)
			return
		}
	}
}

// addRecordedAnswer applies that a call returned in the live run.
func (p *player) addRecordedAnswer(e entry) {
	r := p.recorded[e.N]
	delete(p.recorded, e.N)
	if !p.timer.After(p.now) {
		p.step() // a deadline that has passed comes first
	}
	r.answer, r.answeredAt = p.rt.store(r.Op, r.UID, e), p.now
	if r.by != nil {
		p.answerCall(r.by, r.answer)
		return
	}
	p.report.Unasked++
	p.unasked = slices.DeleteFunc(p.unasked, func(u *recordedCall) bool { return p.now.Sub(u.answeredAt) > p.slack })
	p.unasked = append(p.unasked, r)
}

// answerCall makes the loop's call return; nil stands for the tape's last answer.
func (p *player) answerCall(w *loopCall, a *answer) {
	p.waiting = slices.DeleteFunc(p.waiting, func(o *loopCall) bool { return o == w })
	p.rt.next = a
	p.s.Return(p.now, w.Pending)
	p.rt.next = nil
	p.deliver()
	p.inputAdded()
}

// unrecordedCall returns the oldest call of the loop that the tape does not have, nil if
// there is none. A list of everything in flight stands for the lists of single
// pods.
func (p *player) unrecordedCall() *loopCall {
	listing := slices.ContainsFunc(p.waiting, func(w *loopCall) bool { return w.Op == opList && w.as != nil })
	i := slices.IndexFunc(p.waiting, func(w *loopCall) bool { return w.as == nil && (w.Op != opPod || !listing) })
	if i < 0 {
		return nil
	}
	return p.waiting[i]
}

// answerUnrecorded answers a call that the tape does not have.
func (p *player) answerUnrecorded(w *loopCall) {
	p.report.Missing++
	p.answerCall(w, nil)
}
