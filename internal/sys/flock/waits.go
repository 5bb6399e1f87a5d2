package flock

import (
	"context"
	"slices"
	"sync"
	"time"
)

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

// Queue records that a goroutine waits for the lock on path, also behind another one of this
// process. end ends it.
func Queue(ctx context.Context, path string) (end func()) {
	whose, _ := ctx.Value(forKey{}).(string)
	return waits.begin(&Wait{For: whose, Path: path, Since: time.Now()})
}

// register has the waits that have not ended.
type register struct {
	mu  sync.Mutex
	all map[*Wait]bool
}

func (r *register) begin(w *Wait) (end func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.all == nil {
		r.all = map[*Wait]bool{}
	}
	r.all[w] = true
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.all, w)
	}
}

func (r *register) current() []Wait {
	r.mu.Lock()
	defer r.mu.Unlock()
	var all []Wait
	for w := range r.all {
		all = append(all, *w)
	}
	slices.SortFunc(all, func(a, b Wait) int { return a.Since.Compare(b.Since) })
	return all
}
