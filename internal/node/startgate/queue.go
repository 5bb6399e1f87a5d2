package startgate

import (
	"cmp"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// expectFor is how long a turn is kept for a pod that is about to enter.
const expectFor = time.Second

// state of a pod in the queue.
type state uint8

const (
	// resting: it neither starts nor is about to; only its place is known.
	resting state = iota
	// expected: it is about to enter; those behind it leave it its turn.
	expected
	// waiting: it has entered.
	waiting
	// starting: it has its turn.
	starting
)

// place is one pod's.
type place struct {
	uid      types.UID
	priority int32
	arrival  uint64
	state    state
	// since is when it came to its state.
	since time.Time
}

func (p *place) compare(o *place) int {
	return cmp.Or(cmp.Compare(o.priority, p.priority), cmp.Compare(p.arrival, o.arrival))
}

// queue decides which pods have their turn. It has no clock: times are given.
type queue struct {
	first, most int
	hungAfter   time.Duration
	// window is how many turns may be in flight.
	// Invariant: first <= window <= most.
	window   int
	arrivals uint64
	places   map[types.UID]*place
	// queued are the expected and waiting pods, in their order; turns those that
	// start.
	queued []*place
	turns  map[*place]struct{}
}

func newQueue(o Options) *queue {
	return &queue{
		first: o.First, most: o.Most, hungAfter: o.HungAfter, window: o.First,
		places: map[types.UID]*place{}, turns: map[*place]struct{}{},
	}
}

// expect keeps a turn for a pod that rests.
func (q *queue) expect(uid types.UID, priority int32, now time.Time) {
	if p := q.places[uid]; p == nil || p.state == resting {
		q.join(uid, priority, expected, now)
	}
}

// enter has the pod wait for its turn.
func (q *queue) enter(uid types.UID, priority int32, now time.Time) {
	q.join(uid, priority, waiting, now)
}

// join puts the pod into the queue: at its old place, or a new pod behind all others of
// its priority.
func (q *queue) join(uid types.UID, priority int32, s state, now time.Time) {
	p := q.places[uid]
	if p == nil {
		q.arrivals++
		p = &place{uid: uid, arrival: q.arrivals}
		q.places[uid] = p
	}
	q.remove(p)
	p.priority, p.state, p.since = priority, s, now
	i, _ := slices.BinarySearchFunc(q.queued, p, (*place).compare)
	q.queued = slices.Insert(q.queued, i, p)
}

// remove removes the pod from the queue and ends its turn.
func (q *queue) remove(p *place) {
	if p.state == expected || p.state == waiting {
		i, _ := slices.BinarySearchFunc(q.queued, p, (*place).compare)
		q.queued = slices.Delete(q.queued, i, i+1)
	}
	delete(q.turns, p)
	p.state = resting
}

// endTurn ends the pod's turn, or its wait for one. A turn that ends widens the
// window, the end of the last one narrows it.
func (q *queue) endTurn(uid types.UID) {
	p := q.places[uid]
	if p == nil {
		return
	}
	if p.state == starting {
		q.window = min(q.window+1, q.most)
	}
	q.remove(p)
	if len(q.turns)+len(q.queued) == 0 {
		q.window = q.first
	}
}

// forget ends the pod's turn and forgets its place.
func (q *queue) forget(uid types.UID) {
	q.endTurn(uid)
	delete(q.places, uid)
}

// takeTurns starts the turns of the pods that may start now, and returns the time at which
// to call it again, zero if only another method changes anything.
func (q *queue) takeTurns(now time.Time) (turns []types.UID, again time.Time) {
	hung, again := q.hung(now)
	kept := 0
	for i := 0; i < len(q.queued); {
		p := q.queued[i]
		switch end := p.since.Add(expectFor); {
		case p.state == expected && !now.Before(end):
			q.remove(p)
		case !hung && len(q.turns)+kept >= q.window:
			return turns, again
		case p.state == expected:
			kept++
			i++
			again = sooner(again, end)
		default:
			q.remove(p)
			p.state, p.since = starting, now
			q.turns[p] = struct{}{}
			turns = append(turns, p.uid)
			again = sooner(again, now.Add(q.hungAfter))
		}
	}
	return turns, time.Time{}
}

// hung reports whether a turn has lasted longer than hungAfter, and if not when the first
// will have.
func (q *queue) hung(now time.Time) (hung bool, at time.Time) {
	for p := range q.turns {
		at = sooner(at, p.since.Add(q.hungAfter))
	}
	return !at.IsZero() && !now.Before(at), at
}

// sooner returns the earlier of two times; a zero time is none.
func sooner(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}
