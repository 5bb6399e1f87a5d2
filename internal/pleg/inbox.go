package pleg

import (
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

// relistRequest requests a relist of one pod.
type relistRequest struct {
	source Source
	// live: a hint requests it that is not from the backlog.
	live bool
	// awaited: a caller waits for it, so that a hold does not delay it.
	awaited bool
	// reports are those of the hints, by id. The request needs no relist once a listing
	// shows all of them, unless unconditional is set.
	reports       map[string]hintReport
	unconditional bool
	// after and seq: a listing that began after this time, or later than this
	// one, serves it. after is zero for a hint, which may be older than it looks.
	after time.Time
	seq   uint64
}

func (q relistRequest) isServedBy(s stamp) bool {
	return s.seq > q.seq || !q.after.IsZero() && s.at.After(q.after)
}

// merge returns the request that is served when both are.
func (q relistRequest) merge(o relistRequest) relistRequest {
	if o.source == FromHint || q.source == FromRelist {
		q.source = o.source
	}
	q.live = q.live || o.live
	q.awaited = q.awaited || o.awaited
	q.unconditional = q.unconditional || o.unconditional
	if q.reports == nil {
		q.reports = o.reports
	} else {
		for id, r := range o.reports {
			q.reports[id] = q.reports[id].merge(r)
		}
	}
	if q.after.IsZero() || o.after.IsZero() {
		q.after = time.Time{}
	} else if o.after.After(q.after) {
		q.after = o.after
	}
	q.seq = max(q.seq, o.seq)
	return q
}

// hintedContainer merges the hints of one container that wait in the inbox.
type hintedContainer struct {
	uid  types.UID // as the event had it
	live bool
	hintReport
}

// streamState is the hint stream's state, as set by its listener.
type streamState struct {
	// session counts how often the stream was opened.
	session   int
	open      bool
	broadcast bool
	at        time.Time // when it opened
}

// inbox holds the input that the loop has not processed yet. Adding to it never
// blocks, and duplicates are merged: a burst costs no memory.
type inbox struct {
	mu      sync.Mutex
	content inboxContent
	stream  streamState
	// held are the pods whose hints are delayed, and until when: see Hold.
	held map[types.UID]time.Time
	wake chan struct{}
}

type inboxContent struct {
	requests  map[types.UID]relistRequest
	hints     map[string]hintedContainer
	reinspect map[types.UID]struct{}
	stream    streamState
}

func (b *inbox) init() {
	b.wake = make(chan struct{}, 1)
	b.content = newInboxContent()
	b.held = map[types.UID]time.Time{}
}

func newInboxContent() inboxContent {
	return inboxContent{requests: map[types.UID]relistRequest{}, hints: map[string]hintedContainer{}, reinspect: map[types.UID]struct{}{}}
}

// takeContent empties the inbox.
func (b *inbox) takeContent() inboxContent {
	b.mu.Lock()
	defer b.mu.Unlock()
	var m inboxContent
	if len(b.content.requests)+len(b.content.hints)+len(b.content.reinspect) > 0 {
		m, b.content = b.content, newInboxContent()
	}
	m.stream = b.stream
	return m
}

func (b *inbox) addRequest(uid types.UID, q relistRequest) {
	b.update(func() {
		if old, ok := b.content.requests[uid]; ok {
			q = old.merge(q)
		}
		b.content.requests[uid] = q
	})
}

func (b *inbox) addReinspect(uid types.UID) {
	b.update(func() { b.content.reinspect[uid] = struct{}{} })
}

// addHint adds a hint, and reports whether its event was created before the stream was
// opened.
func (b *inbox) addHint(h pod.Notice) (backlog bool) {
	b.update(func() {
		backlog = !b.stream.open || h.Created.Before(b.stream.at)
		old := b.content.hints[h.ID]
		if h.PodUID == "" {
			h.PodUID = old.uid
		}
		b.content.hints[h.ID] = hintedContainer{
			uid: h.PodUID, live: !backlog || old.live,
			hintReport: old.merge(hintReport{state: h.State, deleted: h.Deleted, opaque: h.State == pod.Unknown && !h.Deleted}),
		}
	})
	return backlog
}

func (b *inbox) streamOpened(now time.Time, broadcast bool) {
	b.update(func() {
		b.stream = streamState{session: b.stream.session + 1, open: true, broadcast: broadcast, at: now}
	})
}

func (b *inbox) streamClosed() {
	b.update(func() { b.stream.open = false })
}

// holdPod delays the pod's hints, and forgets expired holds: that of a removed pod is
// never released.
func (b *inbox) holdPod(uid types.UID, now, until time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	maps.DeleteFunc(b.held, func(_ types.UID, until time.Time) bool { return !now.Before(until) })
	b.held[uid] = until
}

func (b *inbox) releasePod(uid types.UID) {
	b.update(func() { delete(b.held, uid) })
}

// heldUntil returns the time until which the pod's hints are delayed, zero if they are
// not.
func (b *inbox) heldUntil(uid types.UID, now time.Time) time.Time {
	b.mu.Lock()
	defer b.mu.Unlock()
	if until := b.held[uid]; now.Before(until) {
		return until
	}
	return time.Time{}
}

func (b *inbox) update(f func()) {
	b.mu.Lock()
	f()
	b.mu.Unlock()
	select {
	case b.wake <- struct{}{}:
	default:
	}
}
