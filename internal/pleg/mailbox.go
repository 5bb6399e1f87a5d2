package pleg

import (
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

// mark asks for a relist of one pod.
type mark struct {
	source Source
	// live: a hint that is not from the backlog asks.
	live bool
	// asked: a caller waits for it, so that it is not held.
	asked bool
	// reports are what the hints told, by id. A mark that told nothing else needs no relist
	// once a listing shows all of it; any other, which is blind, does.
	reports map[string]report
	blind   bool
	// after and seq: a listing that began after this time, or later than this
	// one, serves it. after is zero for a hint, which may be older than it looks.
	after time.Time
	seq   uint64
}

func (m mark) servedBy(s stamp) bool {
	return s.seq > m.seq || !m.after.IsZero() && s.at.After(m.after)
}

// merge returns the mark that is served when both are.
func (m mark) merge(o mark) mark {
	if o.source == FromHint || m.source == FromRelist {
		m.source = o.source
	}
	m.live = m.live || o.live
	m.asked = m.asked || o.asked
	m.blind = m.blind || o.blind
	if m.reports == nil {
		m.reports = o.reports
	} else {
		for id, t := range o.reports {
			m.reports[id] = m.reports[id].merge(t)
		}
	}
	if m.after.IsZero() || o.after.IsZero() {
		m.after = time.Time{}
	} else if o.after.After(m.after) {
		m.after = o.after
	}
	m.seq = max(m.seq, o.seq)
	return m
}

// hintMark is the last hint of one container.
type hintMark struct {
	uid  types.UID // as the event had it
	live bool
	report
}

// stream is the state of the hint stream as its listener sees it.
type stream struct {
	// session counts the times that it opened.
	session   int
	open      bool
	broadcast bool
	at        time.Time // when it opened
}

// mailbox is the input that the loop has not processed yet. Adding to it never
// blocks, and duplicates are merged: a burst costs no memory.
type mailbox struct {
	mu      sync.Mutex
	mail    mail
	current stream
	// held are the pods whose hints wait, and until when: see Hold.
	held map[types.UID]time.Time
	wake chan struct{}
}

type mail struct {
	asked     map[types.UID]mark
	hints     map[string]hintMark
	reinspect map[types.UID]struct{}
	stream    stream
}

func (b *mailbox) init() {
	b.wake = make(chan struct{}, 1)
	b.mail = newMail()
	b.held = map[types.UID]time.Time{}
}

func newMail() mail {
	return mail{asked: map[types.UID]mark{}, hints: map[string]hintMark{}, reinspect: map[types.UID]struct{}{}}
}

// take empties the mailbox.
func (b *mailbox) take() mail {
	b.mu.Lock()
	defer b.mu.Unlock()
	var m mail
	if len(b.mail.asked)+len(b.mail.hints)+len(b.mail.reinspect) > 0 {
		m, b.mail = b.mail, newMail()
	}
	m.stream = b.current
	return m
}

func (b *mailbox) ask(uid types.UID, m mark) {
	b.put(func() {
		if old, ok := b.mail.asked[uid]; ok {
			m = old.merge(m)
		}
		b.mail.asked[uid] = m
	})
}

func (b *mailbox) flag(uid types.UID) {
	b.put(func() { b.mail.reinspect[uid] = struct{}{} })
}

// hint adds an event; it reports whether the event was created before the
// stream opened.
func (b *mailbox) hint(h pod.Hint) (backlog bool) {
	b.put(func() {
		backlog = !b.current.open || h.Created.Before(b.current.at)
		old := b.mail.hints[h.ID]
		if h.PodUID == "" {
			h.PodUID = old.uid
		}
		b.mail.hints[h.ID] = hintMark{
			uid: h.PodUID, live: !backlog || old.live,
			report: old.merge(report{state: h.State, deleted: h.Deleted, opaque: h.State == pod.Unknown && !h.Deleted}),
		}
	})
	return backlog
}

func (b *mailbox) opened(now time.Time, broadcast bool) {
	b.put(func() {
		b.current = stream{session: b.current.session + 1, open: true, broadcast: broadcast, at: now}
	})
}

func (b *mailbox) closed() {
	b.put(func() { b.current.open = false })
}

// hold also forgets the holds that were never released: a pod that is removed
// keeps its hold until it expires.
func (b *mailbox) hold(uid types.UID, now, until time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	maps.DeleteFunc(b.held, func(_ types.UID, until time.Time) bool { return !now.Before(until) })
	b.held[uid] = until
}

func (b *mailbox) release(uid types.UID) {
	b.put(func() { delete(b.held, uid) })
}

// heldUntil is when the pod's hints count again; zero if they do.
func (b *mailbox) heldUntil(uid types.UID, now time.Time) time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	if until := b.held[uid]; now.Before(until) {
		return until
	}
	return time.Time{}
}

func (b *mailbox) put(f func()) {
	b.mu.Lock()
	f()
	b.mu.Unlock()
	select {
	case b.wake <- struct{}{}:
	default:
	}
}
