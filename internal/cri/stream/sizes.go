package stream

import (
	"sync"
	"time"

	"k8s.io/client-go/tools/remotecommand"
)

// Sizes passes the sizes of a terminal to a session. A size that was not yet sent
// is replaced by the next one. It is safe for concurrent use.
type Sizes struct {
	mu      sync.Mutex
	changed chan struct{} // holds one
	next    remotecommand.TerminalSize
	redraw  bool // send a slightly different size first
	closed  bool
}

var _ remotecommand.TerminalSizeQueue = (*Sizes)(nil)

// NewSizes returns an empty queue.
func NewSizes() *Sizes { return &Sizes{changed: make(chan struct{}, 1)} }

// Set sends a size, in columns and lines. One without area is left out: the
// terminal does not have it.
func (s *Sizes) Set(columns, lines int) {
	if columns <= 0 || lines <= 0 || columns > 1<<16-1 || lines > 1<<16-1 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.next = remotecommand.TerminalSize{Width: uint16(columns), Height: uint16(lines)}
	s.signal()
}

// signal wakes Next, with mu held and before Close.
func (s *Sizes) signal() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// Redraw makes a program that already runs draw its screen again, as for a change
// of size. It has to be called before Put.
func (s *Sizes) Redraw() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.redraw = true
}

// Close ends Next.
func (s *Sizes) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.closed = true
		close(s.changed)
	}
}

// redrawDelay lies between the two sizes of Redraw: CRI-O's monitor loses the
// second of two that follow each other at once.
const redrawDelay = 100 * time.Millisecond

// resend makes Next return the size again.
func (s *Sizes) resend() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.signal()
	}
}

// Next waits for a size; nil after Close.
func (s *Sizes) Next() *remotecommand.TerminalSize {
	_, open := <-s.changed
	if !open {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	size := s.next
	if s.redraw && !s.closed {
		s.redraw = false
		size.Width--
		time.AfterFunc(redrawDelay, s.resend)
	}
	return &size
}
