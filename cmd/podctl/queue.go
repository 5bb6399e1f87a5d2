package main

import (
	"sync"

	"github.com/podctl/podctl/internal/event"
)

// queue hands events from the node, which must not wait, to the screen.
type queue struct {
	ready chan struct{} // has a value when take may have events

	mu     sync.Mutex
	events []event.Event
}

func newQueue() *queue { return &queue{ready: make(chan struct{}, 1)} }

func (q *queue) put(ev event.Event) {
	q.mu.Lock()
	q.events = append(q.events, ev)
	q.mu.Unlock()
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

func (q *queue) take() []event.Event {
	q.mu.Lock()
	defer q.mu.Unlock()
	events := q.events
	q.events = nil
	return events
}
