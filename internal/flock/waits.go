package flock

import (
	"sync"
	"time"
)

// Waits are the waits for locks of this process.
type Waits struct {
	// Oldest is when the oldest one began that has not ended, zero without one.
	Oldest time.Time
	// Begun is how many there were, GivenUp how many ended without the lock.
	Begun, GivenUp uint64
}

// Waiting returns the waits for locks of this process. A lock that is free is not
// waited for.
func Waiting() Waits { return waits.read() }

// waits are those of the process, like the locks.
var waits register

// register counts waits.
type register struct {
	mu     sync.Mutex
	counts Waits
	since  map[*time.Time]bool
}

// begin counts a wait. The function that it returns ends it.
func (r *register) begin() (end func(locked bool)) {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.since == nil {
		r.since = map[*time.Time]bool{}
	}
	r.since[&now] = true
	r.counts.Begun++
	return func(locked bool) {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.since, &now)
		if !locked {
			r.counts.GivenUp++
		}
	}
}

func (r *register) read() Waits {
	r.mu.Lock()
	defer r.mu.Unlock()
	w := r.counts
	for since := range r.since {
		if w.Oldest.IsZero() || since.Before(w.Oldest) {
			w.Oldest = *since
		}
	}
	return w
}
