package output

import "sync"

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
