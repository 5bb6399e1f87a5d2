package plegstat

import (
	"slices"
	"time"

	"github.com/podctl/podctl/internal/pleg"
)

// Side is one of the two PLEGs of a comparison.
type Side uint8

// The two sides.
const (
	ByHints Side = iota
	ByRelists
)

// Sides lists both sides.
var Sides = [...]Side{ByHints, ByRelists}

// Transition is one event of a container or sandbox, and when each side
// reported it.
type Transition struct {
	Event // of the side that reported first
	Seen  [2]time.Time
	// caughtUp: the side with hints found the event by its own relist, without
	// a hint.
	caughtUp bool
	// due is when a side that has not reported has missed the event. missed:
	// that time has passed. The event may still be reported late.
	due    time.Time
	missed bool
}

// Both reports whether both sides reported the event.
func (t *Transition) Both() bool { return !t.Seen[ByHints].IsZero() && !t.Seen[ByRelists].IsZero() }

// Ahead returns how much earlier the hints reported than the relists; negative
// if the relists were first. Both must have reported.
func (t *Transition) Ahead() time.Duration { return t.Seen[ByRelists].Sub(t.Seen[ByHints]) }

// MissedBy reports whether a side missed the event: it never reported it, or
// (hints) found it by a relist only.
func (t *Transition) MissedBy(s Side) bool {
	return s == ByHints && t.caughtUp || t.missed && t.Seen[s].IsZero()
}

// LagOf returns how long after the event a side reported it; not ok if that is
// unknown.
func (t *Transition) LagOf(s Side) (lag time.Duration, ok bool) {
	return lagOf(t.Happened(), t.Seen[s])
}

// InFuture reports whether the event happened after a side reported it, by the runtime's
// time: see Event.InFuture.
func (t *Transition) InFuture(s Side) bool {
	return !t.Seen[s].IsZero() && isAfter(t.Happened(), t.Seen[s])
}

// Comparison matches the events of two PLEGs on one runtime.
type Comparison struct {
	// allowance is how long one side may report after the other before it has
	// missed the event.
	allowance time.Duration
	all       []*Transition
	open      map[transitionKey][]*Transition // reported by one side; oldest first
}

type transitionKey struct {
	id  string
	typ pleg.EventType
}

// NewComparison returns a comparison in which a side may lag behind the other
// by allowance before it has missed an event.
func NewComparison(allowance time.Duration) *Comparison {
	return &Comparison{allowance: allowance, open: map[transitionKey][]*Transition{}}
}

// Add adds an event of a side. It returns the transition when both sides have
// reported it within the allowance, else nil. Initial events and PodSync are no
// transitions.
func (c *Comparison) Add(s Side, ev Event) *Transition {
	if ev.Initial || ev.ID == "" {
		return nil
	}
	key := transitionKey{ev.ID, ev.Type}
	i := slices.IndexFunc(c.open[key], func(t *Transition) bool { return t.Seen[s].IsZero() })
	if i < 0 {
		t := &Transition{Event: ev, due: ev.Received.Add(c.allowance)}
		t.report(s, ev)
		c.all = append(c.all, t)
		c.open[key] = append(c.open[key], t)
		return nil
	}
	t := c.open[key][i]
	t.report(s, ev)
	if c.open[key] = slices.Delete(c.open[key], i, i+1); len(c.open[key]) == 0 {
		delete(c.open, key)
	}
	if t.missed { // Overdue has returned it
		return nil
	}
	return t
}

func (t *Transition) report(s Side, ev Event) {
	t.Seen[s] = ev.Received
	t.caughtUp = t.caughtUp || s == ByHints && ev.Source == pleg.FromRelist
	if t.Status == nil {
		t.Status = ev.Status
	}
}

// Overdue returns the transitions that a side has missed by now, each once.
func (c *Comparison) Overdue(now time.Time) []*Transition {
	var late []*Transition
	for _, open := range c.open {
		for _, t := range open {
			if !t.missed && !now.Before(t.due) {
				t.missed = true
				late = append(late, t)
			}
		}
	}
	slices.SortFunc(late, func(a, b *Transition) int { return a.Received.Compare(b.Received) })
	return late
}

// undecided counts the transitions that one side has reported and the other
// still may.
func (c *Comparison) undecided() int {
	n := 0
	for _, t := range c.all {
		if !t.Both() && !t.missed {
			n++
		}
	}
	return n
}
