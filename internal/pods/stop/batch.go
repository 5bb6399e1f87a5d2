package stop

import (
	"context"
	"sync"
)

// Batch asks one question for several callers at a time. A caller gets an answer to a
// question that was put after it called: while one is being answered, callers wait, and the
// next one is put for all of them. The zero value is ready. A Batch is safe for concurrent
// use.
type Batch[K, V any] struct {
	mu sync.Mutex
	// asking: a goroutine puts questions.
	asking bool
	// next has not been put yet; nil if nobody waits for it.
	next *question[K, V]
}

// question is what several callers want to know.
type question[K, V any] struct {
	about  []K
	done   chan struct{} // closed once answer and err are set
	answer V
	err    error
}

// Ask returns the answer of ask to a question about this and what other callers ask about.
// ctx is the command's: it ends the question for all of them.
func (b *Batch[K, V]) Ask(ctx context.Context, about K, ask func(ctx context.Context, about []K) (V, error)) (V, error) {
	q := b.join(about)
	if b.startAsking() {
		go func() {
			for q := b.take(); q != nil; q = b.take() {
				if q.err = ctx.Err(); q.err == nil {
					q.answer, q.err = ask(ctx, q.about)
				}
				close(q.done)
			}
		}()
	}
	select {
	case <-q.done:
		return q.answer, q.err
	case <-ctx.Done():
		var none V
		return none, ctx.Err()
	}
}

// join adds to the next question.
func (b *Batch[K, V]) join(about K) *question[K, V] {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.next == nil {
		b.next = &question[K, V]{done: make(chan struct{})}
	}
	b.next.about = append(b.next.about, about)
	return b.next
}

// startAsking reports whether the caller has to put the questions: nobody does.
func (b *Batch[K, V]) startAsking() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	started := !b.asking && b.next != nil
	b.asking = b.asking || started
	return started
}

// take returns the next question, nil if there is none: nobody puts questions then.
func (b *Batch[K, V]) take() *question[K, V] {
	b.mu.Lock()
	defer b.mu.Unlock()
	q := b.next
	b.next, b.asking = nil, q != nil
	return q
}
