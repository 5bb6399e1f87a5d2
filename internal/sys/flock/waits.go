package flock

import (
	"context"
	"slices"
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

// Wait is a wait for a lock that has not ended.
type Wait struct {
	// For is on whose behalf the lock is waited for (see For), "" if that is not known.
	For   string
	Path  string
	Since time.Time
}

// Current returns the waits of this process that have not ended, oldest first: those
// for locks of other processes, and those in its own queues.
func Current() []Wait { return waits.current() }

// For returns a context in which locks are waited for on behalf of a pod.
func For(ctx context.Context, whose string) context.Context {
	return context.WithValue(ctx, forKey{}, whose)
}

type forKey struct{}

// Queue records that a goroutine waits behind another one of this process for the
// lock on path. It is not counted: the other one's wait is. end ends it.
func Queue(ctx context.Context, path string) (end func()) {
	w := newWait(ctx, path)
	waits.put(w, false)
	return func() { waits.remove(w) }
}

func newWait(ctx context.Context, path string) *Wait {
	whose, _ := ctx.Value(forKey{}).(string)
	return &Wait{For: whose, Path: path, Since: time.Now()}
}

// register counts waits.
type register struct {
	mu     sync.Mutex
	counts Waits
	since  map[*Wait]bool // whether the wait is counted
}

// begin counts a wait. The function that it returns ends it.
func (r *register) begin(w *Wait) (end func(locked bool)) {
	r.put(w, true)
	return func(locked bool) {
		r.remove(w)
		r.mu.Lock()
		defer r.mu.Unlock()
		if !locked {
			r.counts.GivenUp++
		}
	}
}

func (r *register) put(w *Wait, counted bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.since == nil {
		r.since = map[*Wait]bool{}
	}
	r.since[w] = counted
	if counted {
		r.counts.Begun++
	}
}

func (r *register) remove(w *Wait) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.since, w)
}

func (r *register) current() []Wait {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []Wait
	for w := range r.since {
		all = append(all, *w)
	}
	slices.SortFunc(all, func(a, b Wait) int { return a.Since.Compare(b.Since) })
	return all
}

func (r *register) read() Waits {
	r.mu.Lock()
	defer r.mu.Unlock()
	w := r.counts
	for wait, counted := range r.since {
		if counted && (w.Oldest.IsZero() || wait.Since.Before(w.Oldest)) {
			w.Oldest = wait.Since
		}
	}
	return w
}
