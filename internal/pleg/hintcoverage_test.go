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
func prove(w *world) { change(w, coverageNeeded) }

// change makes n hinted changes of u1.
func change(w *world, n int) {
	for i := range n {
		w.put("u1", "s1", []pod.State{pod.Exited, pod.Running}[i%2])
		w.hint("s1", "u1")
		synctest.Wait()
	}
}

func TestProvenHintsLengthenPeriod(t *testing.T) {
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

func TestUnhintedChangeRestoresPeriod(t *testing.T) {
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
				change(w, 2*coverageNeeded)
				fullRelists(w, 10*time.Second)
				if n := fullRelists(w, 30*time.Second); n != 3 {
					t.Errorf("proved again: %d full relists in 30 s", n)
				}
			})
		})
	}
}

// TestMissingRemovalHintsEndTrust: CRI-O 1.34 sends no event
// when a sandbox is removed. Each new pod's hints must not buy the long period
// back, in which the next removal would be late.
func TestMissingRemovalHintsEndTrust(t *testing.T) {
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
func TestFailedHintsDoubleStreakNeeded(t *testing.T) {
	now := time.Now()
	var p hintCoverage
	open := func(session int) {
		p.setStream(streamState{session: session, open: true, broadcast: true}, 1)
		p.fullRelistDone(2)
	}
	needed := func() (n int) {
		for ; !p.isProven(now); n++ {
			p.podChanged("u1", 3, false, true, now)
		}
		return n
	}
	open(1)
	for i := range 4 {
		if got, want := needed(), coverageNeeded<<i; got != want {
			t.Errorf("after %d failures %d hinted changes prove, want %d", i, got, want)
		}
		p.podChanged("u1", 3, true, false, now)
		now = now.Add(time.Second)
		p.isProven(now)
	}
	p.podChanged("u1", 3, true, false, now) // fails where nothing was proved
	now = now.Add(time.Second)
	if got, want := needed(), coverageNeeded<<4; got != want {
		t.Errorf("after a failure without proof %d hinted changes prove, want %d", got, want)
	}
	open(2)
	if got := needed(); got != coverageNeeded {
		t.Errorf("on a new stream %d hinted changes prove", got)
	}
}

func TestHintsWithoutBroadcastKeepPeriod(t *testing.T) {
	w := newWorld()
	w.put("u1", "s1", pod.Running)
	bubble(t, Options{}, w, func(t *testing.T, p *PLEG, sub *Subscription) {
		prove(w)
		if n := fullRelists(w, 10*time.Second); n != 10 {
			t.Errorf("%d full relists in 10 s", n)
		}
	})
}

// TestBacklogHintsDoNotCount: what was created before the subscription makes its
// pod be relisted, and no more.
func TestBacklogHintsDoNotCount(t *testing.T) {
	w := newWorld()
	w.put("u1", "s1", pod.Running)
	bubble(t, broadcasting, w, func(t *testing.T, p *PLEG, sub *Subscription) {
		subscribed := time.Now()
		time.Sleep(100 * time.Millisecond)
		told(sub)
		for i := range 2 * coverageNeeded {
			w.put("u1", "s1", []pod.State{pod.Exited, pod.Running}[i%2])
			w.raw(pod.Notice{ID: "s1", PodUID: "u1", Created: subscribed.Add(-time.Minute)})
			synctest.Wait()
		}
		if events := told(sub); len(events) != 2*coverageNeeded {
			t.Errorf("events %q", events)
		}
		if n := fullRelists(w, 10*time.Second); n != 10 {
			t.Errorf("%d full relists in 10 s", n)
		}
	})
}

// TestOnlyChangesAfterCatchUpCount: what a relist finds that began before
// the stream opened, or the one that catches up, is no change that a hint could
// have told of.
func TestOnlyChangesAfterCatchUpCount(t *testing.T) {
	now := time.Now()
	var p hintCoverage
	if !p.setStream(streamState{session: 1, open: true, broadcast: true}, 5) || p.setStream(p.asSeen(), 6) {
		t.Error("the gap is not the opening")
	}
	p.fullRelistDone(5) // began before the stream opened
	for range coverageNeeded {
		p.podChanged("u1", 6, false, true, now)
	}
	p.fullRelistDone(7)
	p.podChanged("u1", 7, true, false, now)
	for range coverageNeeded {
		p.podChanged("u1", 6, false, true, now)
	}
	if p.streak != 0 || len(p.doubts) != 0 || p.isProven(now) {
		t.Errorf("%+v", p)
	}
	for range coverageNeeded {
		p.podChanged("u1", 8, false, true, now)
	}
	if !p.isProven(now) {
		t.Errorf("%+v", p)
	}
	p.podChanged("u1", 9, false, false, now) // found on demand, its hint is still to come
	if !p.isProven(now) {
		t.Errorf("%+v", p)
	}
	p.podChanged("u1", 10, true, false, now.Add(time.Second))
	if p.isProven(now) {
		t.Error("proved in spite of a doubt")
	}
	if p.podHinted("u1"); !p.isProven(now) {
		t.Error("the hint came late and the doubt is still there")
	}
	if !p.setStream(streamState{session: 1}, 11) || p.isProven(now) {
		t.Error("proved without a stream")
	}
}

func (p *hintCoverage) asSeen() streamState {
	return streamState{session: p.session, open: p.open, broadcast: p.broadcast}
}

// TestFullRelistServesHint: a change was hinted if the full relist that
// finds it serves its hint, or if that has come or is being served meanwhile.
func TestFullRelistServesHint(t *testing.T) {
	live := relistRequest{source: FromHint, live: true}
	l := newLoop(t.Context(), New(newWorld(), Options{}))
	f := &fullRelist{requests: map[types.UID]relistRequest{"served": live, "asked": {source: FromRequest}}}
	l.requestRelist("came", live)
	l.podRelists["in flight"] = &podRelist{request: live}
	for uid, want := range map[types.UID]bool{"served": true, "came": true, "in flight": true, "asked": false, "none": false} {
		if got := l.observationOf(f, uid, nil).live; got != want {
			t.Errorf("%s: hinted %v", uid, got)
		}
	}
}
