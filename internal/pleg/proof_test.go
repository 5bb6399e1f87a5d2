package pleg

import (
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

// fullRelists counts the full relists of a time.
func fullRelists(w *world, d time.Duration) int {
	w.took()
	time.Sleep(d)
	synctest.Wait()
	n := 0
	for _, c := range w.took() {
		if c == "ListPods" {
			n++
		}
	}
	return n
}

// prove makes as many hinted changes of u1 as the first proof needs.
func prove(w *world) { change(w, proofNeeded) }

// change makes n hinted changes of u1.
func change(w *world, n int) {
	for i := range n {
		w.put("u1", "s1", []pod.State{pod.Exited, pod.Running}[i%2])
		w.hint("s1", "u1")
		synctest.Wait()
	}
}

func TestProvedHintsReplaceThePeriod(t *testing.T) {
	w := newWorld()
	w.put("u1", "s1", pod.Running)
	bubble(t, broadcasting, w, func(t *testing.T, p *PLEG, sub *Subscription) {
		if n := fullRelists(w, 10*time.Second); n != 10 {
			t.Errorf("unproved: %d full relists in 10 s", n)
		}
		prove(w)
		time.Sleep(10 * time.Second) // one is due at once, and its successors are not
		if n := fullRelists(w, time.Minute); n < 6 || n > 7 || !p.Health().Hints.Proved {
			t.Errorf("proved: %d full relists in a minute, %+v", n, p.Health())
		}
		// Flagged pods and GetNewerThan do not wait for it.
		told(sub)
		w.took()
		p.RequestReinspect("u1")
		time.Sleep(time.Second)
		synctest.Wait()
		w.expect(t, "ListPod u1", "PodStatus u1")
		expectEvents(t, sub, "PodSync  relist")
	})
}

func TestUnhintedChangeBringsThePeriodBack(t *testing.T) {
	for name, late := range map[string]bool{"stolen": false, "late": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.put("u1", "s1", pod.Running)
			bubble(t, broadcasting, w, func(t *testing.T, p *PLEG, sub *Subscription) {
				prove(w)
				fullRelists(w, 10*time.Second)
				w.put("u1", "s1", pod.Unknown) // another subscriber got the event
				fullRelists(w, 10*time.Second)
				if late {
					w.hint("s1", "u1")
				}
				want := map[bool]int{false: 30, true: 3}[late]
				if n := fullRelists(w, 30*time.Second); n < want-1 || n > want+1 {
					t.Errorf("%d full relists in 30 s, expected about %d", n, want)
				}
				change(w, 2*proofNeeded)
				fullRelists(w, 10*time.Second)
				if n := fullRelists(w, 30*time.Second); n != 3 {
					t.Errorf("proved again: %d full relists in 30 s", n)
				}
			})
		})
	}
}

// TestRuntimeThatNeverHintsAtRemovalsLosesItsCredit: CRI-O 1.34 sends no event
// when a sandbox is removed. Each new pod's hints must not buy the long period
// back, in which the next removal would be late.
func TestRuntimeThatNeverHintsAtRemovalsLosesItsCredit(t *testing.T) {
	w := newWorld()
	bubble(t, broadcasting, w, func(t *testing.T, p *PLEG, sub *Subscription) {
		var late []time.Duration
		for range 10 {
			change(w, 4) // a pod's life, as far as it is hinted
			fullRelists(w, 23*time.Second)
			told(sub)
			w.put("u1")
			removed := time.Now()
			for len(told(sub)) == 0 {
				<-sub.Ready()
			}
			late = append(late, time.Since(removed))
			fullRelists(w, 23*time.Second)
		}
		if late[0] <= time.Second {
			t.Errorf("the first removal was found after %s: nothing was proved", late[0])
		}
		for i, l := range late[1:] {
			if l > time.Second {
				t.Errorf("removal %d was found after %s", i+2, l)
			}
		}
	})
}

// A new stream starts over.
func TestEachFailureOfHintsDoublesWhatProofNeeds(t *testing.T) {
	now := time.Now()
	var p proof
	open := func(session int) {
		p.sync(stream{session: session, open: true, broadcast: true}, 1)
		p.relisted(2)
	}
	needed := func() (n int) {
		for ; !p.proved(now); n++ {
			p.changed("u1", 3, false, true, now)
		}
		return n
	}
	open(1)
	for i := range 4 {
		if got, want := needed(), proofNeeded<<i; got != want {
			t.Errorf("after %d failures %d hinted changes prove, want %d", i, got, want)
		}
		p.changed("u1", 3, true, false, now)
		now = now.Add(time.Second)
		p.proved(now)
	}
	p.changed("u1", 3, true, false, now) // fails where nothing was proved
	now = now.Add(time.Second)
	if got, want := needed(), proofNeeded<<4; got != want {
		t.Errorf("after a failure without proof %d hinted changes prove, want %d", got, want)
	}
	open(2)
	if got := needed(); got != proofNeeded {
		t.Errorf("on a new stream %d hinted changes prove", got)
	}
}

func TestWithoutBroadcastHintsNeverReplaceThePeriod(t *testing.T) {
	w := newWorld()
	w.put("u1", "s1", pod.Running)
	bubble(t, Options{}, w, func(t *testing.T, p *PLEG, sub *Subscription) {
		prove(w)
		if n := fullRelists(w, 10*time.Second); n != 10 {
			t.Errorf("%d full relists in 10 s", n)
		}
	})
}

// TestBacklogProvesNothing: what was created before the subscription makes its
// pod be relisted, and no more.
func TestBacklogProvesNothing(t *testing.T) {
	w := newWorld()
	w.put("u1", "s1", pod.Running)
	bubble(t, broadcasting, w, func(t *testing.T, p *PLEG, sub *Subscription) {
		subscribed := time.Now()
		time.Sleep(100 * time.Millisecond)
		told(sub)
		for i := range 2 * proofNeeded {
			w.put("u1", "s1", []pod.State{pod.Exited, pod.Running}[i%2])
			w.raw(pod.Hint{ID: "s1", PodUID: "u1", Created: subscribed.Add(-time.Minute)})
			synctest.Wait()
		}
		if events := told(sub); len(events) != 2*proofNeeded {
			t.Errorf("events %q", events)
		}
		if n := fullRelists(w, 10*time.Second); n != 10 {
			t.Errorf("%d full relists in 10 s", n)
		}
	})
}

// TestOnlyChangesAfterTheCatchUpCount: what a relist finds that began before
// the stream opened, or the one that catches up, is no change that a hint could
// have told of.
func TestOnlyChangesAfterTheCatchUpCount(t *testing.T) {
	now := time.Now()
	var p proof
	if !p.sync(stream{session: 1, open: true, broadcast: true}, 5) || p.sync(p.asSeen(), 6) {
		t.Error("the gap is not the opening")
	}
	p.relisted(5) // began before the stream opened
	for range proofNeeded {
		p.changed("u1", 6, false, true, now)
	}
	p.relisted(7)
	p.changed("u1", 7, true, false, now)
	for range proofNeeded {
		p.changed("u1", 6, false, true, now)
	}
	if p.streak != 0 || len(p.doubts) != 0 || p.proved(now) {
		t.Errorf("%+v", p)
	}
	for range proofNeeded {
		p.changed("u1", 8, false, true, now)
	}
	if !p.proved(now) {
		t.Errorf("%+v", p)
	}
	p.changed("u1", 9, false, false, now) // found on demand, its hint is still to come
	if !p.proved(now) {
		t.Errorf("%+v", p)
	}
	p.changed("u1", 10, true, false, now.Add(time.Second))
	if p.proved(now) {
		t.Error("proved in spite of a doubt")
	}
	if p.hinted("u1"); !p.proved(now) {
		t.Error("the hint came late and the doubt is still there")
	}
	if !p.sync(stream{session: 1}, 11) || p.proved(now) {
		t.Error("proved without a stream")
	}
}

func (p *proof) asSeen() stream {
	return stream{session: p.session, open: p.open, broadcast: p.broadcast}
}

// TestFullRelistMayTakeAHintsPlace: a change was hinted if the full relist that
// finds it serves its hint, or if that has come or is being served meanwhile.
func TestFullRelistMayTakeAHintsPlace(t *testing.T) {
	live := mark{source: FromHint, live: true}
	l := newLoop(t.Context(), New(newWorld(), Options{}))
	f := &fullRelist{marks: map[types.UID]mark{"served": live, "asked": {source: FromRequest}}}
	l.mark("came", live)
	l.singles["in flight"] = &single{mark: live}
	for uid, want := range map[types.UID]bool{"served": true, "came": true, "in flight": true, "asked": false, "none": false} {
		if got := l.sighting(f, uid, nil).live; got != want {
			t.Errorf("%s: hinted %v", uid, got)
		}
	}
}
