package relay

import (
	"sync"
	"sync/atomic"
	"time"
)

// chunk is a part of what was passed on in one direction.
type chunk struct {
	from Side
	data []byte
	at   time.Time
}

// budget bounds the bytes that wait for the decoders of all connections.
type budget struct{ used atomic.Int64 }

// maxQueued is the limit of a budget, in bytes.
const maxQueued = 64 << 20

// acquire reserves n bytes. It reports false, and reserves nothing, if fewer are free.
func (b *budget) acquire(n int) bool {
	if b.used.Add(int64(n)) > maxQueued {
		b.used.Add(int64(-n))
		return false
	}
	return true
}

func (b *budget) release(n int) { b.used.Add(int64(-n)) }

// queue holds copies of the bytes of one connection until its decoder reads them. Adding
// never blocks.
type queue struct {
	budget *budget

	mu      sync.Mutex
	waiting batch
	// read is the batch that the decoder has, whose memory is used again.
	read batch
	// lost: bytes were dropped; no more are taken.
	lost, closed bool
	// observed: all that was added has been observed.
	observed bool
	changed  chan struct{}
}

// batch is bytes of both directions, and which of them came when.
type batch struct {
	bytes []byte
	parts []part
}

// part is where a chunk ends in a batch.
type part struct {
	from Side
	end  int
	at   time.Time
}

// maxReused is the size of the largest batch whose memory is used again.
const maxReused = 1 << 20

func newQueue(b *budget) *queue {
	return &queue{budget: b, observed: true, changed: make(chan struct{}, 1)}
}

// add copies bytes into the queue.
func (q *queue) add(from Side, data []byte, at time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.lost || q.closed {
		return
	}
	if !q.budget.acquire(len(data)) {
		q.lost = true
	} else {
		q.waiting.bytes = append(q.waiting.bytes, data...)
		q.waiting.parts = append(q.waiting.parts, part{from, len(q.waiting.bytes), at})
		q.observed = false
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

// readPause is how long a decoder waits for more once there is something to read: reading
// takes the processor from the calls that pass.
const readPause = 2 * time.Millisecond

// next waits for chunks, which are valid until it is called again. lost: some are missing
// after them; ok is false at the end.
func (q *queue) next() (chunks []chunk, lost, ok bool) {
	q.mu.Lock()
	for len(q.waiting.parts) == 0 && !q.lost && !q.closed {
		q.observed = true
		q.mu.Unlock()
		<-q.changed
		time.Sleep(readPause)
		q.mu.Lock()
	}
	defer q.mu.Unlock()
	if cap(q.read.bytes) > maxReused {
		q.read = batch{}
	}
	q.read, q.waiting = q.waiting, batch{q.read.bytes[:0], q.read.parts[:0]}
	begin := 0
	for _, p := range q.read.parts {
		chunks = append(chunks, chunk{p.from, q.read.bytes[begin:p.end], p.at})
		begin = p.end
	}
	return chunks, q.lost, len(chunks) > 0 || q.lost
}

// isObserved reports whether all that was added has been observed.
func (q *queue) isObserved() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.observed
}

// drop discards what the queue holds, and all that is added later.
func (q *queue) drop() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.observed = true
	q.budget.release(len(q.waiting.bytes))
	q.waiting, q.read, q.closed = batch{}, batch{}, true
}
