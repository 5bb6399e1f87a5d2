package pleg

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/podctl/podctl/internal/pod"
)

// TestStepperActsOnlyOnStep, at the times that it is told, and each
// call returns when its holder says so.
func TestStepperActsOnlyOnStep(t *testing.T) {
	w := newWorld()
	w.put("u1", "s1", pod.Running)
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	at := func(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }
	s := NewStepper(t.Context(), w, Options{})
	sub := s.Subscribe()
	steps := func(ms int, calls ...string) (started []*Pending) {
		t.Helper()
		s.Step(at(ms))
		started = s.Started()
		var got []string
		for _, c := range started {
			got = append(got, fmt.Sprintf("%s %s", c.Op, c.PodUID))
		}
		if !slices.Equal(got, calls) {
			t.Fatalf("at %d ms: started %q, expected %q", ms, got, calls)
		}
		return started
	}

	full := steps(0, "ListPods ")[0]
	if due := s.Step(at(1)); due.Before(at(1000)) {
		t.Errorf("with a list in flight something is due at %s", due)
	}
	w.expect(t) // nothing is asked before it returns
	s.Return(at(5), full)
	w.expect(t, "ListPods")
	s.Return(at(9), steps(5, "PodStatus u1")[0])
	if events := sub.Take(); len(events) != 1 || !events[0].At.Equal(at(0)) || events[0].Source != FromRelist || !events[0].Initial {
		t.Errorf("events %+v", events)
	}
	if due := s.Step(at(9)); !due.Equal(at(1005)) {
		t.Errorf("the next relist is due at %s", due)
	}

	s.HintsOpened(at(20), true)
	s.Return(at(22), steps(21, "ListPods ")[0])
	w.put("u1", "s1", pod.Exited)
	s.Hint(at(30), pod.Hint{ID: "s1", Created: at(29)})
	s.Return(at(32), steps(31, "ListPod u1")[0])
	s.Return(at(34), steps(33, "PodStatus u1")[0])
	if events := sub.Take(); len(events) != 1 || events[0].Type != ContainerDied || events[0].Source != FromHint || !events[0].At.Equal(at(31)) {
		t.Errorf("events %+v", events)
	}
	if h := s.Health(); !h.Hints.Open || !h.LastRelist.Equal(at(21)) || len(h.InFlight) > 0 {
		t.Errorf("health %+v", h)
	}

	s.Relist(at(40), "u1", FromRelist)
	s.Return(at(41), steps(40, "ListPod u1")[0])
	s.Relist(at(42), "", FromRelist)
	steps(42, "ListPods ")
	s.HintsEnded(at(50), errors.New("broken"))
	steps(50) // the list in flight comes first
	if h := s.Health(); h.Hints.Open || len(h.InFlight) != 1 {
		t.Errorf("health %+v", h)
	}
}
