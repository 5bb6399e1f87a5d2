package pleg

import (
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// keepPerPod is how many events of one pod wait for a subscriber; more are
// merged into one.
const keepPerPod = 64

// Subscription delivers events to one consumer, in order. None is dropped: if
// the consumer falls far behind, the events of one pod are merged into a PodSync
// that counts them.
type Subscription struct {
	ready   chan struct{}
	all     *subscribers
	mu      sync.Mutex
	waiting []Event
	perPod  map[types.UID]int
}

// Subscribe returns a subscription to all events from now on. A subscription
// before Run receives those of the first relist, which describe everything that
// exists.
func (p *PLEG) Subscribe() *Subscription {
	s := &Subscription{ready: make(chan struct{}, 1), all: &p.subs, perPod: map[types.UID]int{}}
	p.subs.mu.Lock()
	defer p.subs.mu.Unlock()
	p.subs.list = append(p.subs.list, s)
	return s
}

// Ready has a value when Take may have events.
func (s *Subscription) Ready() <-chan struct{} { return s.ready }

// Take returns the events that wait, nil if none do. It never blocks.
func (s *Subscription) Take() []Event {
	s.mu.Lock()
	defer s.mu.Unlock()
	events := s.waiting
	s.waiting = nil
	clear(s.perPod)
	return events
}

// Close ends the subscription. Waiting events may still be taken.
func (s *Subscription) Close() {
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	s.all.list = slices.DeleteFunc(s.all.list, func(o *Subscription) bool { return o == s })
}

func (s *Subscription) add(events []Event) {
	s.mu.Lock()
	for _, e := range events {
		s.waiting = append(s.waiting, e)
		if s.perPod[e.PodUID]++; s.perPod[e.PodUID] > keepPerPod {
			s.merge(e)
		}
	}
	s.mu.Unlock()
	select {
	case s.ready <- struct{}{}:
	default:
	}
}

// merge replaces all events of a pod by one PodSync in the place of the last.
func (s *Subscription) merge(last Event) {
	merged := last
	merged.Type, merged.ID, merged.Container, merged.Coalesced = PodSync, "", "", -1
	s.waiting = slices.DeleteFunc(s.waiting, func(e Event) bool {
		if e.PodUID != last.PodUID {
			return false
		}
		merged.Coalesced += 1 + e.Coalesced
		return true
	})
	s.waiting = append(s.waiting, merged)
	s.perPod[last.PodUID] = 1
}

// subscribers are all subscriptions.
type subscribers struct {
	mu   sync.Mutex
	list []*Subscription
}

func (s *subscribers) send(events []Event) {
	if len(events) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sub := range s.list {
		sub.add(events)
	}
}
