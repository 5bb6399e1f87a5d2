package tape

import (
	"slices"
)

// called: in the live run a call began now. The loop has made it already, or
// does so now.
func (p *player) called(r *recorded) {
	p.recorded[r.N] = r
	if p.match(r) {
		return
	}
	p.step()
	if p.match(r) || r.Op == opStatus {
		return
	}
	p.s.Relist(p.now, r.UID)
	p.step()
	p.match(r)
}

// match finds the loop's call that the tape's is.
func (p *player) match(r *recorded) bool {
	for _, w := range p.waiting {
		if w.as == nil && w.Op == r.Op && w.PodUID == r.UID {
			w.as, r.by = r, w
			return true
		}
	}
	return false
}

// answered: in the live run a call returned now.
func (p *player) answered(e entry) {
	r := p.recorded[e.N]
	delete(p.recorded, e.N)
	if !p.due.After(p.now) {
		p.step() // a deadline that has passed comes first
	}
	a := p.rt.learn(r.Op, r.UID, e)
	if r.by == nil {
		p.report.Unasked++
		return
	}
	p.rt.next = a
	p.finish(r.by)
	p.rt.next = nil
	p.step()
}

// finish lets the loop's call return.
func (p *player) finish(w *waiting) {
	p.waiting = slices.DeleteFunc(p.waiting, func(o *waiting) bool { return o == w })
	p.s.Return(p.now, w.Pending)
}

// unknown is the oldest call of the loop that the tape does not have, nil if
// there is none. A list of everything in flight speaks for the lists of single
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
	p.finish(w)
	p.step()
}
