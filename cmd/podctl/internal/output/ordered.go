package output

import (
	"bytes"
	"io"
	"sync"
)

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
