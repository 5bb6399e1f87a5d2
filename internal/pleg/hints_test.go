package pleg

import (
	"context"
	"errors"
	"io"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/podctl/podctl/internal/pod"
)

// TestHintedExitRelistsOnePodOnce: from the process's end to the event, two
// filtered lists and the status, at once.
func TestHintedExitRelistsOnePodOnce(t *testing.T) {
	w := newWorld()
	w.put("u1", "c1", pod.Running, "s1", pod.Running)
	bubble(t, Options{}, w, func(t *testing.T, p *PLEG, sub *Subscription) {
		told(sub)
		w.took()
		time.Sleep(100 * time.Millisecond)
		w.put("u1", "c1", pod.Exited, "s1", pod.Running)
		w.hint("c1", "u1")
		synctest.Wait()
		w.expect(t, "ListPod u1", "PodStatus u1")
		events := sub.Take()
		if len(events) != 1 {
			t.Fatalf("events %+v", events)
		}
		e := events[0]
		if e.Type != ContainerDied || e.ID != "c1" || e.Container != "nc1" || e.Name != "u1" || e.Source != FromHint ||
			!e.At.Equal(time.Now()) || e.Status.Container("nc1").State != pod.Exited {
			t.Errorf("event %+v", e)
		}
	})
}

// TestHintWithoutChangeReadsNoStatus: an event is never believed.
func TestHintWithoutChangeReadsNoStatus(t *testing.T) {
	w := newWorld()
	w.put("u1", "s1", pod.Running)
	bubble(t, Options{}, w, func(t *testing.T, p *PLEG, sub *Subscription) {
		told(sub)
		w.took()
		w.raw(pod.Notice{ID: "s1", PodUID: "u1", Deleted: true, Created: time.Now()})
		synctest.Wait()
		w.expect(t, "ListPod u1")
		expectEvents(t, sub)
	})
}

func TestHintsDuringRelistCauseOneMore(t *testing.T) {
	w := newWorld()
	w.put("u1", "s1", pod.Running)
	bubble(t, Options{}, w, func(t *testing.T, p *PLEG, sub *Subscription) {
		w.took()
		w.takes("ListPod u1", 50*time.Millisecond)
		w.takes("PodStatus u1", 50*time.Millisecond)
		w.put("u1", "s1", pod.Exited)
		for range 8 { // during the list and the status
			w.hint("s1", "u1")
			time.Sleep(11 * time.Millisecond)
		}
		time.Sleep(300 * time.Millisecond)
		w.expect(t, "ListPod u1", "PodStatus u1", "ListPod u1")
	})
}

func TestDeletedContainerIsMappedToItsPod(t *testing.T) {
	w := newWorld()
	w.put("u1", "c1", pod.Exited, "s1", pod.Running)
	bubble(t, Options{}, w, func(t *testing.T, p *PLEG, sub *Subscription) {
		told(sub)
		w.took()
		w.put("u1", "s1", pod.Running)
		w.raw(pod.Notice{ID: "c1", Deleted: true, Created: time.Now()})
		synctest.Wait()
		w.expect(t, "ListPod u1", "PodStatus u1")
		expectEvents(t, sub, "ContainerRemoved c1 hint")
	})
}

func TestHintOfUnknownContainerRelists(t *testing.T) {
	w := newWorld()
	bubble(t, Options{}, w, func(t *testing.T, p *PLEG, sub *Subscription) {
		w.took()
		w.put("u1", "s1", pod.Running)
		w.hint("s1", "u1")
		synctest.Wait()
		w.expect(t, "ListPod u1", "PodStatus u1")
		expectEvents(t, sub, "ContainerStarted s1 hint")
		time.Sleep(200 * time.Millisecond)
		w.put("u2", "s2", pod.Running)
		w.hint("s2", "")
		synctest.Wait()
		w.expect(t, "ListPods", "PodStatus u2")
		expectEvents(t, sub, "ContainerStarted s2 relist")
		// A runtime that tells of strangers all the time is not listed all the time.
		for range 150 {
			w.hint("stranger", "")
			time.Sleep(time.Millisecond)
		}
		if calls := w.took(); len(calls) != 1 {
			t.Errorf("calls %q", calls)
		}
	})
}

func TestFullRelistAfterStreamEnds(t *testing.T) {
	w := newWorld()
	w.put("u1", "s1", pod.Running)
	bubble(t, broadcasting, w, func(t *testing.T, p *PLEG, sub *Subscription) {
		prove(w)
		time.Sleep(15 * time.Second)
		synctest.Wait()
		told(sub)
		w.took()
		w.put("u1", "s1", pod.Unknown, "c1", pod.Running)
		w.end(io.ErrUnexpectedEOF)
		synctest.Wait()
		w.expect(t, "ListPods", "PodStatus u1")
		expectEvents(t, sub, "ContainerStarted c1 relist")
		if h := p.Health().Hints; h.Open || !errors.Is(h.Err, io.ErrUnexpectedEOF) {
			t.Errorf("health %+v", h)
		}
		w.put("u1", "s1", pod.Unknown, "c1", pod.Exited)
		time.Sleep(hintBackoff)
		synctest.Wait()
		w.expect(t, "ListPods", "PodStatus u1") // the stream is open again
		expectEvents(t, sub, "ContainerDied c1 relist")
		if n := fullRelists(w, 10*time.Second); n != 10 || w.subscriptions() != 2 || p.Health().Hints.Proved {
			t.Errorf("%d full relists in 10 s, %d streams, %+v", n, w.subscriptions(), p.Health())
		}
		// A change of the gap is no change that a hint should have told of.
		prove(w)
		fullRelists(w, 10*time.Second)
		if n := fullRelists(w, 30*time.Second); n != 3 {
			t.Errorf("proved: %d full relists in 30 s", n)
		}
	})
}

func TestStreamReconnectBacksOff(t *testing.T) {
	w := newWorld()
	w.noEvents = errors.New("connection refused")
	seen := &observer{}
	bubble(t, Options{Observer: seen}, w, func(t *testing.T, p *PLEG, sub *Subscription) {
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		// 250 ms doubling to 30 s: eight tries in the first half minute, then two a minute.
		if n := len(seen.streams); n < 20 || n > 30 {
			t.Errorf("%d tries in 10 minutes", n)
		}
	})
}

func TestUnsupportedHintsAreRetriedAfterRecovery(t *testing.T) {
	for name, err := range map[string]error{"unimplemented": errors.ErrUnsupported, "EOF at once": io.EOF} {
		t.Run(name, func(t *testing.T) {
			w := newWorld()
			w.noEvents = err
			w.put("u1", "s1", pod.Running)
			bubble(t, broadcasting, w, func(t *testing.T, p *PLEG, sub *Subscription) {
				if h := p.Health().Hints; h.Open || !errors.Is(h.Err, errors.ErrUnsupported) {
					t.Errorf("health %+v", h)
				}
				told(sub)
				if n := fullRelists(w, 10*time.Second); n != 10 {
					t.Errorf("%d full relists in 10 s", n)
				}
				w.events(nil)
				time.Sleep(time.Minute)
				if w.subscriptions() != 0 {
					t.Error("a runtime that has no events was asked again")
				}
				w.answers("ListPods", errors.New("down"))
				time.Sleep(5 * time.Second)
				w.answers("ListPods", nil)
				time.Sleep(time.Second)
				synctest.Wait()
				if w.subscriptions() != 1 || !p.Health().Hints.Open {
					t.Errorf("%d streams, %+v", w.subscriptions(), p.Health())
				}
			})
		})
	}
}

// observer remembers what it is told.
type observer struct {
	noObserver
	streams []error
	needed  []bool
	backlog []bool
}

func (o *observer) HintStream(err error) { o.streams = append(o.streams, err) }
func (o *observer) Hinted(_ time.Duration, backlog bool) {
	o.backlog = append(o.backlog, backlog)
}
func (o *observer) PodRelisted(_ Source, _ time.Duration, changed bool, _ error) {
	o.needed = append(o.needed, changed)
}

// TestPodLifeCycle: a pod of one container, its runtime tells of each step.
// Not one status is read that no change has called for.
func TestPodLifeCycle(t *testing.T) {
	w := newWorld()
	seen := &observer{}
	opts := broadcasting
	opts.Observer = seen
	bubble(t, opts, w, func(t *testing.T, p *PLEG, sub *Subscription) {
		w.took()
		step := func(id string, states ...any) {
			time.Sleep(20 * time.Millisecond)
			w.put("u1", states...)
			w.hint(id, "u1")
			synctest.Wait()
		}
		step("s1", "s1", pod.Running)
		step("c1", "s1", pod.Running, "c1", pod.Created)
		step("c1", "s1", pod.Running, "c1", pod.Running)
		if _, err := p.GetNewerThan(context.Background(), "u1", time.Now().Add(-time.Millisecond)); err != nil {
			t.Error(err)
		}
		step("c1", "s1", pod.Running, "c1", pod.Exited)
		step("s1", "s1", pod.Exited, "c1", pod.Exited)
		step("c1", "s1", pod.Exited)
		step("s1")
		lists, reads := 0, 0
		for _, c := range w.took() {
			switch c {
			case "ListPod u1":
				lists++
			case "PodStatus u1":
				reads++
			default:
				t.Errorf("call %q", c)
			}
		}
		if lists != 7 || reads != 6 {
			t.Errorf("%d lists and %d reads for 7 changes, the last of which needs no read", lists, reads)
		}
		expectEvents(t, sub, "ContainerStarted s1 hint", "ContainerStarted c1 hint", "ContainerDied c1 hint",
			"ContainerDied s1 hint", "ContainerRemoved c1 hint", "ContainerRemoved s1 hint")
		if slices.Contains(seen.needed, false) || len(seen.needed) != 7 || slices.Contains(seen.backlog, true) {
			t.Errorf("%+v", seen)
		}
	})
}
