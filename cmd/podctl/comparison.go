package main

import (
	"slices"
	"time"

	"github.com/podctl/podctl/internal/pleg"
)

// side is one of the two PLEGs that are compared.
type side uint8

const (
	byHints side = iota
	byRelists
)

// transition is one event of a container or sandbox, and when each side told.
type transition struct {
	seenEvent // of the side that told first
	seen      [2]time.Time
	// caughtUp: the side that lives on hints found it by a relist of its own:
	// no hint had told of it.
	caughtUp bool
	// due is when a side that has not told by then has missed it; missed that
	// it has been given up. It may still be told, late.
	due    time.Time
	missed bool
}

// both tells whether both sides told.
func (t *transition) both() bool { return !t.seen[byHints].IsZero() && !t.seen[byRelists].IsZero() }

// ahead is how much earlier the hints told than the relists; negative if the
// relists did. It is of one that both told.
func (t *transition) ahead() time.Duration { return t.seen[byRelists].Sub(t.seen[byHints]) }

// missedBy tells whether a side missed it: it never told, or (hints) had to
// look for itself.
func (t *transition) missedBy(s side) bool {
	return s == byHints && t.caughtUp || t.missed && t.seen[s].IsZero()
}

// lag is how late a side told after the runtime says that it happened.
func (t *transition) lagOf(s side) (lag time.Duration, ok bool) {
	happened := t.happened()
	if happened.IsZero() || t.seen[s].IsZero() {
		return 0, false
	}
	return max(0, t.seen[s].Sub(happened)), true
}

// comparison matches what two PLEGs tell of one runtime. It is not safe for
// several goroutines, and reads no clock.
type comparison struct {
	// patience is after what time a side has missed what the other told.
	patience time.Duration
	all      []*transition
	open     map[transitionKey][]*transition // told by one side; oldest first
}

type transitionKey struct {
	id  string
	typ pleg.EventType
}

func newComparison(patience time.Duration) *comparison {
	return &comparison{patience: patience, open: map[transitionKey][]*transition{}}
}

// add takes an event of a side in. It returns the transition once both sides
// have told of it, and nil before. What was there at first, and a PodSync, is no
// transition.
func (c *comparison) add(s side, ev seenEvent) *transition {
	if ev.Initial || ev.ID == "" {
		return nil
	}
	key := transitionKey{ev.ID, ev.Type}
	i := slices.IndexFunc(c.open[key], func(t *transition) bool { return t.seen[s].IsZero() })
	if i < 0 {
		t := &transition{seenEvent: ev, due: ev.at.Add(c.patience)}
		t.tell(s, ev)
		c.all = append(c.all, t)
		c.open[key] = append(c.open[key], t)
		return nil
	}
	t := c.open[key][i]
	t.tell(s, ev)
	if c.open[key] = slices.Delete(c.open[key], i, i+1); len(c.open[key]) == 0 {
		delete(c.open, key)
	}
	return t
}

func (t *transition) tell(s side, ev seenEvent) {
	t.seen[s] = ev.at
	t.caughtUp = t.caughtUp || s == byHints && ev.Source == pleg.FromRelist
	if t.Status == nil {
		t.Status = ev.Status
	}
}

// overdue returns the transitions that a side has missed by now, each once.
func (c *comparison) overdue(now time.Time) []*transition {
	var late []*transition
	for _, open := range c.open {
		for _, t := range open {
			if !t.missed && !now.Before(t.due) {
				t.missed = true
				late = append(late, t)
			}
		}
	}
	slices.SortFunc(late, func(a, b *transition) int { return a.at.Compare(b.at) })
	return late
}

// undecided counts the transitions of which it is too early to tell.
func (c *comparison) undecided() int {
	n := 0
	for _, t := range c.all {
		if !t.both() && !t.missed {
			n++
		}
	}
	return n
}
