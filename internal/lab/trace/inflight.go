package trace

import (
	"cmp"
	"slices"
	"time"
)

// InFlight returns the calls in flight, the oldest first.
func (t *Tracer) InFlight(now time.Time) []*Entry {
	var all []*Entry
	for _, call := range t.calls {
		e := call.entry
		e.InFlight, e.Took = true, now.Sub(e.Start)
		e.Detail = detail(call.request, nil, t.Secrets)
		all = append(all, &e)
	}
	slices.SortFunc(all, func(a, b *Entry) int { return cmp.Compare(a.ID, b.ID) })
	return all
}

// Overdue returns the unary calls that are in flight for longer than a time, each once.
func (t *Tracer) Overdue(now time.Time, after time.Duration) []*Entry {
	var overdue []*Entry
	for _, e := range t.InFlight(now) {
		call := t.calls[e.ID]
		if !e.Stream && !call.shown && e.Took >= after {
			call.shown = true
			overdue = append(overdue, e)
		}
	}
	return overdue
}
