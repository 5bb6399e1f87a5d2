package logs

import (
	"cmp"
	"container/heap"
	"context"
	"errors"
	"io/fs"
	"time"
)

// window is how long a line waits for earlier ones of other logs.
const window = 100 * time.Millisecond

// member is one log of a group.
type member struct {
	key    string
	of     any
	reader *Reader
	// order is its place among lines of the same time.
	order int

	head Line
	// read is when head was read; dried is since when there is no line.
	read, dried time.Time
	done        bool
	// failed is why the log could not be read when that was last tried, or that there
	// is no file of it yet; nil if it could. Only with Retry.
	failed error
	// end is set once its container has ended.
	end *ending
}

// applyChanges takes over what was added and ended.
func (g *Group) applyChanges() (sealed bool) {
	now := time.Now()
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, m := range g.added {
		m.order = len(g.members)
		g.members[m.key] = m
		g.dry = append(g.dry, m)
	}
	for _, key := range g.ended {
		if m := g.members[key]; m != nil && m.end == nil {
			m.end = &ending{since: now, last: now}
		}
	}
	g.added, g.ended = nil, nil
	return g.sealed
}

// round passes on all lines whose turn has come.
func (g *Group) round(ctx context.Context) error {
	g.now = time.Now()
	g.pollDry()
	for n := 1; len(g.heads) > 0; n++ {
		if n%checkLines == 0 {
			if g.now = time.Now(); ctx.Err() != nil {
				return ctx.Err()
			}
		}
		m := g.heads[0]
		if len(g.dry) > 0 && !m.mature(g.now) {
			return nil
		}
		err := g.opts.Each(m.of, m.head)
		if err != nil && !errors.Is(err, ErrEnough) {
			return err
		}
		if m.done = err != nil; m.done || !g.nextLine(m) {
			heap.Pop(&g.heads)
			g.parkOrClose(m)
		} else if len(g.heads) > 1 {
			heap.Fix(&g.heads, 0)
		}
	}
	return ctx.Err()
}

// checkLines is after how many lines the time, and whether to go on, is checked.
const checkLines = 1024

// mature reports whether the line at the head has waited long enough.
func (m *member) mature(now time.Time) bool {
	return now.Sub(m.head.Time) >= window || now.Sub(m.read) >= window
}

// nextLine reads the next line of a log, and reports whether there is one.
func (g *Group) nextLine(m *member) bool {
	l, ok, err := m.reader.Next()
	if err != nil && g.opts.Retry {
		m.failed = err
		return false
	}
	if m.reader.current != nil {
		m.failed = nil
	}
	if err != nil {
		g.problem(m.of, err)
		m.done = true
		return false
	}
	if !ok && m.reader.Done() {
		if l, ok = m.reader.Flush(); !ok {
			m.done = true
			return false
		}
	}
	m.head, m.read = l, g.now
	return ok
}

// parkOrClose keeps a log that has no line now, or closes it at its end.
func (g *Group) parkOrClose(m *member) {
	if !m.done {
		g.dry = append(g.dry, m)
		return
	}
	if m.failed != nil {
		g.problem(m.of, m.failed)
	}
	if odd := m.reader.Odd(); odd > 0 {
		g.problem(m.of, oddError(m.reader.path, odd))
	}
	m.reader.Close()
	delete(g.members, m.key)
}

// pollDry reads the logs that had no line.
func (g *Group) pollDry() {
	dry := g.dry
	g.dry = nil
	for _, m := range dry {
		if g.poll(m) {
			heap.Push(&g.heads, m)
		} else {
			g.parkOrClose(m)
		}
	}
}

// poll reads a log that had no line, and reports whether it has one.
func (g *Group) poll(m *member) bool {
	var complete, written bool
	newest := m.reader.current
	if m.end != nil { // asked before reading
		complete, written = m.reader.writers()
	}
	if g.nextLine(m) {
		m.dried = time.Time{}
		if m.end != nil {
			m.end.last = g.now
		}
		return true
	}
	if m.done {
		return false
	}
	if m.dried.IsZero() {
		m.dried = g.now
	}
	if m.end != nil && m.failed != nil && !errors.Is(m.failed, fs.ErrNotExist) {
		if !g.closing && g.now.Sub(m.end.since) < flushTimeout {
			return false
		}
		return g.flush(m)
	}
	if m.end != nil {
		none := m.reader.current == nil
		if m.end.over(complete && m.reader.current == newest, written, none, g.now) {
			m.reader.finish()
			return g.nextLine(m)
		}
	}
	if g.opts.Pieces > 0 && g.now.Sub(m.dried) >= g.opts.Pieces {
		l, ok := m.reader.Flush()
		m.head, m.read = l, g.now
		return ok
	}
	return false
}

// flush passes on the piece of a line that a log that cannot be read any more
// still has, then ends it.
func (g *Group) flush(m *member) bool {
	l, ok := m.reader.Flush()
	m.head, m.read, m.done = l, g.now, !ok
	return ok
}

func (g *Group) problem(of any, err error) {
	if g.opts.Problem != nil {
		g.opts.Problem(of, err)
	}
}

// headHeap is a heap of logs by the time of their next line.
type headHeap []*member

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (h headHeap) Len() int { return len(h) }

func (h headHeap) Less(i, j int) bool {
	return cmp.Or(h[i].head.Time.Compare(h[j].head.Time), cmp.Compare(h[i].order, h[j].order)) < 0
}

func (h headHeap) Swap(i, j int) { h[i], h[j] = h[j], h[i] }

func (h *headHeap) Push(x any) { *h = append(*h, x.(*member)) }

func (h *headHeap) Pop() any {
	last := len(*h) - 1
	m := (*h)[last]
	*h = (*h)[:last]
	return m
}
