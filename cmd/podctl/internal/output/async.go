package output

import (
	"bytes"
	"context"
	"io"
	"slices"
	"sync"
	"time"
)

// Async is a writer that never blocks: what its reader does not read in time is
// kept up to a limit, then dropped and counted. It is safe for concurrent use.
type Async struct {
	w     io.Writer
	limit int
	// dropped is called with the number of writes that were dropped, once the
	// reader reads again.
	dropped func(n int)

	mu      sync.Mutex
	idle    chan struct{} // closed while nothing is pending
	pending []byte
	lost    int
	err     error
	failed  chan error // has err once
	// block, if not nil, ends the time in which writes wait for room.
	block context.Context
}

// NewAsync returns an Async to w that keeps up to limit bytes.
func NewAsync(w io.Writer, limit int, dropped func(n int)) *Async {
	a := &Async{w: w, limit: limit, dropped: dropped, idle: make(chan struct{}), failed: make(chan error, 1)}
	close(a.idle)
	return a
}

// Below returns the writer that an Async writes to.
func (a *Async) Below() io.Writer { return a.w }

// Failed has the error of a write once, for those who may have nothing to write for long.
func (a *Async) Failed() <-chan error { return a.failed }

// Write implements io.Writer. The error is that of an earlier write.
func (a *Async) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if ctx := a.block; ctx != nil {
		a.mu.Unlock()
		a.waitFor(ctx, func() bool { return a.fits(p) })
		a.mu.Lock()
	}
	switch {
	case a.err != nil:
		return 0, a.err
	case !a.fits(p):
		a.lost++
		return len(p), nil
	}
	starts := isClosed(a.idle)
	a.pending = append(a.pending, p...)
	if starts {
		a.idle = make(chan struct{})
		go a.drain()
	}
	return len(p), nil
}

// fits reports whether a write is kept: one that is larger than the limit only while
// nothing may be dropped.
func (a *Async) fits(p []byte) bool {
	return len(a.pending)+len(p) <= a.limit || a.block != nil && len(a.pending) == 0
}

// drain writes until nothing is pending.
func (a *Async) drain() {
	for {
		a.mu.Lock()
		text, lost := slices.Clone(a.pending), a.lost
		a.mu.Unlock()
		_, err := a.w.Write(text)
		a.mu.Lock()
		a.pending = a.pending[len(text):]
		a.lost -= lost
		if err != nil {
			a.err = err
			a.failed <- err // nothing is written after it
		}
		done := err != nil || len(a.pending) == 0 && a.lost == 0
		if done {
			close(a.idle)
		}
		a.mu.Unlock()
		if lost > 0 && err == nil {
			a.dropped(lost)
		}
		if done {
			return
		}
	}
}

// Room waits until half of the limit is free, or ctx ends: for what can be read
// again later, and so need not be dropped.
func (a *Async) Room(ctx context.Context) {
	a.waitFor(ctx, func() bool { return len(a.pending) <= a.limit/2 })
}

// Block makes Write wait for room instead of dropping anything, until ctx ends: the
// work is done, and only its result is left to print.
func (a *Async) Block(ctx context.Context) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.block = ctx
}

// Idle waits until everything is written, or ctx ends.
func (a *Async) Idle(ctx context.Context) {
	a.waitFor(ctx, func() bool { return len(a.pending) == 0 && a.lost == 0 })
}

// waitFor waits until a condition is true, which is read under the lock, until a
// write has failed or ctx ends.
func (a *Async) waitFor(ctx context.Context, is func() bool) {
	for {
		a.mu.Lock()
		enough, idle := a.err != nil || is(), a.idle
		a.mu.Unlock()
		if enough {
			return
		}
		select {
		case <-idle:
		case <-ctx.Done():
			return
		}
	}
}

// Flush waits until everything is written, but no longer than a time.
func (a *Async) Flush(limit time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	a.Idle(ctx)
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Queue passes values from a goroutine that must not wait to one that prints
// them. It is safe for concurrent use.
type Queue[T any] struct {
	ready chan struct{}

	mu     sync.Mutex
	values []T
}

// NewQueue returns an empty queue.
func NewQueue[T any]() *Queue[T] { return &Queue[T]{ready: make(chan struct{}, 1)} }

// Ready has a value when Take may have values.
func (q *Queue[T]) Ready() <-chan struct{} { return q.ready }

// Put adds a value and never blocks.
func (q *Queue[T]) Put(v T) {
	q.mu.Lock()
	q.values = append(q.values, v)
	q.mu.Unlock()
	select {
	case q.ready <- struct{}{}:
	default:
	}
}

// Take removes and returns the values, oldest first.
func (q *Queue[T]) Take() []T {
	q.mu.Lock()
	defer q.mu.Unlock()
	values := q.values
	q.values = nil
	return values
}

// Ordered prints what several goroutines write in the order of their numbers: that of the
// first one that is not done at once, that of a later one when those before it are done.
type Ordered struct {
	to io.Writer

	mu sync.Mutex
	// first is the first one that is not done.
	first int
	// waiting is what later ones have written, and done which of them are done.
	waiting []bytes.Buffer
	done    []bool
}

// NewOrdered returns an Ordered of n writers.
func NewOrdered(to io.Writer, n int) *Ordered {
	return &Ordered{to: to, waiting: make([]bytes.Buffer, n), done: make([]bool, n)}
}

// Writer returns the writer of a number from 0.
func (o *Ordered) Writer(i int) io.Writer { return orderedWriter{o, i} }

type orderedWriter struct {
	*Ordered
	i int
}

func (w orderedWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.i == w.first {
		return w.to.Write(b)
	}
	return w.waiting[w.i].Write(b)
}

// Done says that a number writes no more.
func (o *Ordered) Done(i int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.done[i] = true
	for o.first < len(o.done) && o.done[o.first] {
		if o.first++; o.first < len(o.done) {
			_, _ = o.waiting[o.first].WriteTo(o.to) // as fmt.Fprintln to the same stream
		}
	}
}
