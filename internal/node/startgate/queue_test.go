package startgate

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
)

var t0 = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func newNarrowQueue() *queue { return newQueue(Options{First: 2, Most: 4, HungAfter: 5 * time.Second}) }

func wantTurns(t *testing.T, q *queue, at time.Time, want ...types.UID) {
	t.Helper()
	if got, _ := q.takeTurns(at); !slices.Equal(got, want) {
		t.Errorf("turns at %s: %v, want %v", at.Sub(t0), got, want)
	}
}

func TestTurnsFollowPriorityThenArrival(t *testing.T) {
	q := newNarrowQueue()
	for _, uid := range []types.UID{"a", "b", "c"} {
		q.enter(uid, 0, t0)
	}
	q.enter("urgent", 10, t0)
	wantTurns(t, q, t0, "urgent", "a")
	q.endTurn("a")
	wantTurns(t, q, t0, "b", "c") // and the window is wider by one
}

func TestPodKeepsItsPlaceBetweenTurns(t *testing.T) {
	q := newNarrowQueue()
	for i := range 4 {
		q.enter(types.UID(fmt.Sprint("p", i)), 0, t0)
	}
	wantTurns(t, q, t0, "p0", "p1")
	q.endTurn("p0")      // pulls an image
	q.enter("p0", 0, t0) // and is back before the next look
	wantTurns(t, q, t0, "p0", "p2")
}

func TestWindowGrowsWithEachTurnAndShrinksWhenIdle(t *testing.T) {
	q := newNarrowQueue()
	for i := range 20 {
		q.enter(types.UID(fmt.Sprintf("p%02d", i)), 0, t0)
	}
	wantTurns(t, q, t0, "p00", "p01")
	q.endTurn("p00")
	wantTurns(t, q, t0, "p02", "p03")
	q.endTurn("p01")
	wantTurns(t, q, t0, "p04", "p05")
	q.endTurn("p02")
	wantTurns(t, q, t0, "p06") // Most
	for i := range 20 {
		q.endTurn(types.UID(fmt.Sprintf("p%02d", i)))
	}
	if q.window != q.first {
		t.Errorf("window %d when no pod starts, want %d", q.window, q.first)
	}
}

func TestExpectedPodKeepsItsTurnForASecond(t *testing.T) {
	q := newNarrowQueue()
	q.expect("first", 10, t0)
	q.enter("a", 0, t0)
	q.enter("b", 0, t0)
	turns, again := q.takeTurns(t0)
	if !slices.Equal(turns, []types.UID{"a"}) || !again.Equal(t0.Add(expectFor)) {
		t.Errorf("turns %v, again at %v", turns, again)
	}
	wantTurns(t, q, t0.Add(expectFor), "b")
	q.enter("first", 10, t0.Add(expectFor))
	wantTurns(t, q, t0.Add(expectFor))
	q.endTurn("a")
	wantTurns(t, q, t0.Add(expectFor), "first")
}

// A call that hangs delays others by its time limit, once; then the bound is lifted
// for as long as it hangs.
func TestHungTurnLiftsTheBound(t *testing.T) {
	q := newNarrowQueue()
	for _, uid := range []types.UID{"hangs", "hangs-too", "a", "b", "c"} {
		q.enter(uid, 0, t0)
	}
	turns, again := q.takeTurns(t0)
	if !slices.Equal(turns, []types.UID{"hangs", "hangs-too"}) || !again.Equal(t0.Add(5*time.Second)) {
		t.Fatalf("turns %v, again at %v", turns, again)
	}
	wantTurns(t, q, t0.Add(4*time.Second))
	wantTurns(t, q, t0.Add(5*time.Second), "a", "b", "c")
	q.enter("late", 0, t0.Add(6*time.Second))
	wantTurns(t, q, t0.Add(6*time.Second), "late")
}

func TestForgottenPodReleasesItsTurn(t *testing.T) {
	q := newNarrowQueue()
	for _, uid := range []types.UID{"a", "b", "c"} {
		q.enter(uid, 0, t0)
	}
	wantTurns(t, q, t0, "a", "b")
	q.forget("c")
	q.forget("a")
	q.forget("unknown")
	wantTurns(t, q, t0)
	if len(q.places) != 1 || len(q.queued) != 0 || len(q.turns) != 1 {
		t.Errorf("%d places, %d queued, %d turns", len(q.places), len(q.queued), len(q.turns))
	}
}

// Whatever happens in whatever order: the window is kept unless a turn hangs, no
// pod that may have its turn waits, and a pod that waits is looked at again.
func TestQueueProperties(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		q, now := newNarrowQueue(), t0
		uid := func() types.UID { return types.UID(fmt.Sprint("p", rapid.IntRange(0, 9).Draw(rt, "pod"))) }
		for range rapid.IntRange(1, 60).Draw(rt, "steps") {
			before := len(q.turns)
			switch u := uid(); rapid.IntRange(0, 4).Draw(rt, "step") {
			case 0:
				q.expect(u, int32(rapid.IntRange(0, 2).Draw(rt, "priority")), now)
			case 1, 2:
				if p := q.places[u]; p == nil || p.state == resting || p.state == expected {
					q.enter(u, int32(rapid.IntRange(0, 2).Draw(rt, "priority")), now)
				}
			case 3:
				q.endTurn(u)
			case 4:
				now = now.Add(time.Duration(rapid.IntRange(0, 3000).Draw(rt, "ms")) * time.Millisecond)
			}
			hung, _ := q.hung(now)
			turns, again := q.takeTurns(now)
			if len(turns) > 0 && !hung && len(q.turns) > q.window {
				rt.Fatalf("%d turns in flight, window %d", len(q.turns), q.window)
			}
			if before > len(q.turns)+1 {
				rt.Fatalf("one step ended %d turns", before-len(q.turns))
			}
			waits := 0
			for i, p := range q.queued {
				if i > 0 && q.queued[i-1].compare(p) >= 0 {
					rt.Fatal("the queue is not in order")
				}
				if p.state == waiting {
					waits++
				}
			}
			switch {
			case waits == 0:
			case hung:
				rt.Fatalf("%d pods wait beside a turn that hangs", waits)
			case again.IsZero() || !again.After(now):
				rt.Fatalf("%d pods wait, and are looked at again at %v", waits, again)
			}
		}
	})
}
