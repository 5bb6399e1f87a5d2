package output

import (
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
}

// NewAsync returns an Async to w that keeps up to limit bytes.
func NewAsync(w io.Writer, limit int, dropped func(n int)) *Async {
	a := &Async{w: w, limit: limit, dropped: dropped, idle: make(chan struct{})}
	close(a.idle)
	return a
}

// Write implements io.Writer. The error is that of an earlier write.
func (a *Async) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.err != nil:
		return 0, a.err
	case len(a.pending)+len(p) > a.limit:
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
		a.err = err
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

// Flush waits until everything is written, but no longer than a time.
func (a *Async) Flush(limit time.Duration) {
	a.mu.Lock()
	idle := a.idle
	a.mu.Unlock()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-idle:
	case <-timer.C:
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
