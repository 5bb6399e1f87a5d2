package control

import (
	"sync"

	"github.com/podctl/podctl/internal/pod/event"
)

// backlog is the number of events that are kept for a slow reader.
const backlog = 1024

// Broadcaster sends every event to the current readers of /events. The
// zero value has no readers.
type Broadcaster struct {
	mu      sync.Mutex
	readers map[*reader]struct{}
	closed  bool
}

// reader is a reader of /events.
type reader struct {
	events chan Event
	lost   int // guarded by the Broadcaster's mutex
}

// Send sends an event to all readers. It never blocks: a reader that is too slow loses events.
func (b *Broadcaster) Send(of event.Event) {
	ev := EventOf(of)
	b.mu.Lock()
	defer b.mu.Unlock()
	for r := range b.readers {
		ev.Lost = r.lost
		select {
		case r.events <- ev:
			r.lost = 0
		default:
			r.lost++
		}
	}
}

// subscribe returns the events from now on, until stop is called or the
// Broadcaster is closed.
func (b *Broadcaster) subscribe() (events <-chan Event, stop func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	r := &reader{events: make(chan Event, backlog)}
	if b.closed {
		close(r.events)
		return r.events, func() {}
	}
	if b.readers == nil {
		b.readers = map[*reader]struct{}{}
	}
	b.readers[r] = struct{}{}
	return r.events, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.readers, r)
	}
}

// Close ends the streams of all readers, once they have read what there is.
func (b *Broadcaster) Close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	for r := range b.readers {
		close(r.events)
		delete(b.readers, r)
	}
}
