package tape

import (
	"maps"
	"slices"

	"github.com/podctl/podctl/internal/pleg"
)

// called: in the live run a call began now. The loop has made it already, or
// makes it now.
func (p *player) called(r *recorded) {
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

// match finds the loop's call that corresponds to the tape's.
func (p *player) match(r *recorded) bool {
	for _, w := range p.waiting {
		if w.as == nil && r.is(w) {
			w.as, r.by = r, w
			return true
		}
	}
	return false
}

func (r *recorded) is(w *waiting) bool { return w.Op == r.Op && w.PodUID == r.UID }

// began: the loop has made a call. The tape's may have come shortly before.
func (p *player) began(w *waiting) {
	p.waiting = append(p.waiting, w)
	for _, n := range slices.Sorted(maps.Keys(p.recorded)) {
		if r := p.recorded[n]; r.by == nil && r.is(w) {
			w.as, r.by = r, w
			return
		}
	}
	for i, u := range p.unasked {
		if u.is(w) && p.now.Sub(u.answeredAt) <= p.slack {
			p.unasked = slices.Delete(p.unasked, i, i+1)
			p.report.Unasked--
			p.finish(w, u.answer)
			return
		}
	}
}

// answered: in the live run a call returned now.
func (p *player) answered(e entry) {
	r := p.recorded[e.N]
	delete(p.recorded, e.N)
	if !p.timer.After(p.now) {
		p.step() // a deadline that has passed comes first
	}
	r.answer, r.answeredAt = p.rt.learn(r.Op, r.UID, e), p.now
	if r.by != nil {
		p.finish(r.by, r.answer)
		return
	}
	p.report.Unasked++
	p.unasked = slices.DeleteFunc(p.unasked, func(u *recorded) bool { return p.now.Sub(u.answeredAt) > p.slack })
	p.unasked = append(p.unasked, r)
}

// finish makes the loop's call return; nil stands for the tape's last answer.
func (p *player) finish(w *waiting, a *answer) {
	p.waiting = slices.DeleteFunc(p.waiting, func(o *waiting) bool { return o == w })
	p.rt.next = a
	p.s.Return(p.now, w.Pending)
	p.rt.next = nil
	p.deliver()
	p.something()
}

// unknown is the oldest call of the loop that the tape does not have, nil if
// there is none. A list of everything in flight stands for the lists of single
// pods.
func (p *player) unknown() *waiting {
	listing := slices.ContainsFunc(p.waiting, func(w *waiting) bool { return w.Op == opList && w.as != nil })
	i := slices.IndexFunc(p.waiting, func(w *waiting) bool { return w.as == nil && (w.Op != opPod || !listing) })
	if i < 0 {
		return nil
	}
	return p.waiting[i]
}

// improvise answers a call that the tape does not have.
func (p *player) improvise(w *waiting) {
	p.report.Missing++
	p.finish(w, nil)
}
