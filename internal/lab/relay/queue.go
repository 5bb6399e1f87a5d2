package relay

import (
	"sync"
	"sync/atomic"
	"time"
)

// chunk is a copy of bytes that were passed on.
type chunk struct {
	from Side
	data []byte
	at   time.Time
}

// budget bounds the bytes that wait for the decoders of all connections.
type budget struct{ used atomic.Int64 }

const maxQueued = 64 << 20

// take takes n bytes if there are as many.
func (b *budget) take(n int) bool {
	if b.used.Add(int64(n)) > maxQueued {
		b.used.Add(int64(-n))
		return false
	}
	return true
}

func (b *budget) give(n int) { b.used.Add(int64(-n)) }

// queue holds the chunks of one connection until its decoder reads them. Adding never
// blocks.
type queue struct {
	budget *budget

	mu     sync.Mutex
	chunks []chunk
	// lost: a chunk was dropped; no more are taken.
	lost, closed bool
	changed      chan struct{}
}

func newQueue(b *budget) *queue { return &queue{budget: b, changed: make(chan struct{}, 1)} }

// add copies bytes into the queue.
func (q *queue) add(from Side, data []byte, at time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.lost || q.closed {
		return
	}
	if !q.budget.take(len(data)) {
		q.lost = true
	} else {
		q.chunks = append(q.chunks, chunk{from, append([]byte(nil), data...), at})
	}
	q.wake()
}

// close ends the queue: next returns what is in it, then ok is false.
func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.wake()
}

func (q *queue) wake() {
	select {
	case q.changed <- struct{}{}:
	default:
	}
}

// next waits for chunks. lost: some are missing after them; ok is false at the end.
func (q *queue) next() (chunks []chunk, lost, ok bool) {
	for {
		q.mu.Lock()
		chunks, lost, closed := q.chunks, q.lost, q.closed
		q.chunks = nil
		q.mu.Unlock()
		if len(chunks) > 0 || lost || closed {
			return chunks, lost, len(chunks) > 0 || lost
		}
		<-q.changed
	}
}

// drop takes no more chunks.
func (q *queue) drop() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, c := range q.chunks {
		q.budget.give(len(c.data))
	}
	q.chunks, q.closed = nil, true
}
