package pleg

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/podctl/podctl/internal/pod"
)

// TestRandomHistories: whatever is lost, late, told twice, slow or failing,
//   - no answer is older than what was asked for;
//   - once all is quiet, the cache is what the runtime holds;
//   - the events lead there too, in an order that makes sense.
func TestRandomHistories(t *testing.T) {
	for round := range 5 { // of 100 each, or -rapid.checks
		t.Run(fmt.Sprint(round), testRandomHistories)
	}
}

func testRandomHistories(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		acts := drawHistory(rt)
		h := &history{world: newWorld()}
		var events []Event
		bubble(t, broadcasting, h.world, func(t *testing.T, p *PLEG, sub *Subscription) {
			h.p = p
			h.remember()
			for _, a := range acts {
				time.Sleep(a.Pause)
				h.play(t, a)
				events = append(events, sub.Take()...)
			}
			time.Sleep(20 * time.Second) // the latest hints are told
			h.heal()
			time.Sleep(2 * time.Minute)
			synctest.Wait()
			events = append(events, sub.Take()...)
			for _, uid := range []types.UID{"u1", "u2", "u3"} {
				st, err := p.Get(uid)
				if err != nil {
					h.errorf("%s: %v", uid, err)
					continue
				}
				if got, want := fmt.Sprint(statesOf(listingOfStatus(st))), fmt.Sprint(statesOf(h.pods[uid])); got != want {
					h.errorf("%s: the cache has %v, the runtime %v", uid, got, want)
				}
			}
			if n := len(p.cache.waiters) + len(p.Health().InFlight); n != 0 {
				h.errorf("%d waiters and calls are left", n)
			}
		})
		h.judge(events)
		if err := errors.Join(h.errs...); err != nil {
			rt.Fatalf("%v\nevents %+v", err, events)
		}
	})
}

func listingOfStatus(st *pod.Status) *pod.Pod {
	p := &pod.Pod{}
	for _, c := range st.Containers {
		p.Containers = append(p.Containers, &pod.Container{ID: c.ID, State: c.State})
	}
	for _, s := range st.Sandboxes {
		p.Sandboxes = append(p.Sandboxes, &pod.Sandbox{ID: s.ID, State: s.State})
	}
	return p
}

// judge follows the events of every id to the end.
func (h *history) judge(events []Event) {
	last := map[string]EventType{}
	follows := map[EventType][]EventType{
		"":               {ContainerStarted, ContainerDied},
		ContainerStarted: {ContainerDied},
		ContainerDied:    {ContainerRemoved},
		ContainerRemoved: nil,
	}
	for _, e := range events {
		if e.Type == PodSync {
			continue
		}
		ok := false
		for _, t := range follows[last[e.ID]] {
			ok = ok || t == e.Type
		}
		if !ok {
			h.errorf("%s: %s after %q", e.ID, e.Type, last[e.ID])
		}
		last[e.ID] = e.Type
	}
	now := map[string]EventType{}
	for _, p := range h.pods {
		for id, s := range statesOf(p) {
			now[id] = map[pod.State]EventType{pod.Created: "", pod.Running: ContainerStarted, pod.Exited: ContainerDied}[s]
			if last[id] != now[id] {
				h.errorf("%s is %v, the last event is %q", id, s, last[id])
			}
		}
	}
	for id, e := range last {
		if _, ok := now[id]; !ok && e != ContainerRemoved {
			h.errorf("%s is gone, the last event is %q", id, e)
		}
	}
}
