package pleg

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// loop is the state that the goroutine of Run owns. It needs no lock, and none of its
// methods blocks: calls run elsewhere and post what follows to done.
type loop struct {
	*PLEG
	ctx     context.Context
	done    chan func()
	records map[types.UID]*record
	// ids are the containers and sandboxes of the newest listings, with their pods.
	ids      map[string]types.UID
	coverage hintCoverage

	// full is the full relist in flight, nil if there is none. The last one
	// began and ended at these times; urgent, if set, is when the next one is
	// due before its period has passed.
	full               *fullRelist
	lastBegin, lastEnd time.Time
	urgent             time.Time
	failing            bool
	listed             bool // a full relist has succeeded
	// requested are the pods that wait for a relist of their own, in this order;
	// podRelists are those in flight.
	requested  map[types.UID]relistRequest
	order      []types.UID
	podRelists map[types.UID]*podRelist
	// heldBack are the pods that have changed and whose status is read once their
	// hold ends.
	heldBack map[types.UID]struct{}
	// queue are the status reads that wait for their turn.
	queue []*statusRead
	// calls are the pod relists and status reads in flight, at most
	// Parallel; slow counts those among them that hung the last time.
	calls map[*call]struct{}
	slow  int
	// retry are the pods to be relisted at retryAt, unless a full relist comes
	// first: those that could not be listed or read, or were flagged.
	retry   map[types.UID]struct{}
	retryAt time.Time
}

func newLoop(ctx context.Context, p *PLEG) *loop {
	return &loop{
		PLEG: p, ctx: ctx, done: make(chan func()),
		records: map[types.UID]*record{}, ids: map[string]types.UID{}, requested: map[types.UID]relistRequest{},
		podRelists: map[types.UID]*podRelist{}, calls: map[*call]struct{}{}, retry: map[types.UID]struct{}{},
		heldBack: map[types.UID]struct{}{},
	}
}

func (l *loop) run() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-l.ctx.Done():
			return
		case <-timer.C:
		case <-l.inbox.wake:
		case f := <-l.done:
			f()
		}
		timer.Reset(l.step())
	}
}

// spawn makes a runtime call in a goroutine of its own; the function that the call returns runs
// in the loop.
func (l *loop) spawn(work func() (after func())) {
	go func() {
		select {
		case l.done <- work():
		case <-l.ctx.Done():
		}
	}()
}

// step starts everything that is due and can be started. It returns the time
// until something else is due.
func (l *loop) step() time.Duration {
	now := l.opts.Now()
	l.expireCalls(now)
	l.processInbox(l.inbox.takeContent(), now)
	if l.full == nil && !now.Before(l.fullDue(now)) {
		l.startFullRelist(now)
	}
	if l.full == nil && len(l.retry) > 0 && !now.Before(l.retryDue(now)) {
		l.startRetries()
	}
	l.startPodRelists(now)
	l.readHeldBack(now)
	l.startReads(now)
	return l.untilDue(now)
}

// processInbox applies the input that has come since the last step.
func (l *loop) processInbox(in inboxContent, now time.Time) {
	seq := l.cache.lastSeq()
	if l.coverage.setStream(in.stream, seq) {
		l.requestFullRelist(now)
	}
	for id, h := range in.hints {
		uid := l.podOf(id, h.uid)
		if h.live && uid != "" {
			l.coverage.podHinted(uid)
		}
		if l.alreadyObserved(uid, id, h.hintReport) {
			continue
		}
		if uid == "" {
			// Most likely not a pod's: not more often than this.
			l.requestFullRelist(later(now, l.lastBegin.Add(l.opts.Period/10)))
			continue
		}
		l.requestRelist(uid, relistRequest{source: FromHint, live: h.live, seq: seq, reports: map[string]hintReport{id: h.hintReport}})
	}
	for uid, q := range in.requests {
		q.unconditional = true
		l.requestRelist(uid, q)
	}
	for uid := range in.reinspect {
		if rec := l.records[uid]; rec != nil {
			rec.reinspect = true
			l.retryLater(uid, now)
		}
	}
}

// podOf returns the pod of a container or sandbox: by the ids of the newest listings,
// else as the event had it.
func (l *loop) podOf(id string, uid types.UID) types.UID {
	if known, ok := l.ids[id]; ok {
		return known
	}
	return uid
}

func (l *loop) requestRelist(uid types.UID, q relistRequest) {
	if old, ok := l.requested[uid]; ok {
		q = old.merge(q)
	} else {
		l.order = append(l.order, uid)
	}
	l.requested[uid] = q
}

// requestFullRelist makes the next full relist due at t, unless it is due earlier.
func (l *loop) requestFullRelist(t time.Time) {
	if l.urgent.IsZero() || t.Before(l.urgent) {
		l.urgent = t
	}
}

// fullDue returns when the next full relist is due. The period is looked up each
// time, so that a doubt shortens it at once.
func (l *loop) fullDue(now time.Time) time.Time {
	due := l.lastEnd.Add(l.period(now))
	if !l.urgent.IsZero() && l.urgent.Before(due) {
		return l.urgent
	}
	return due
}

func (l *loop) period(now time.Time) time.Duration {
	proven := l.coverage.isProven(now)
	l.missed.Store(int64(l.coverage.missed))
	switch {
	case l.opts.HintsOnly && l.coverage.isCaughtUp():
		return l.opts.Threshold / 3
	case proven:
		return l.opts.HintedPeriod
	}
	return l.opts.Period
}

// retryDue returns when the pods to be retried are due: with the next full relist if
// that is imminent.
func (l *loop) retryDue(now time.Time) time.Time {
	if due := l.fullDue(now); due.Sub(l.retryAt) < l.opts.Period/2 {
		return due
	}
	return l.retryAt
}

func (l *loop) retryLater(uid types.UID, now time.Time) {
	if len(l.retry) == 0 {
		l.retryAt = now.Add(l.opts.Period)
	}
	l.retry[uid] = struct{}{}
}

func (l *loop) startRetries() {
	seq := l.cache.lastSeq()
	for uid := range l.retry {
		l.requestRelist(uid, relistRequest{source: FromRelist, seq: seq, unconditional: true})
	}
	clear(l.retry)
}

// untilDue returns the time until something is due.
func (l *loop) untilDue(now time.Time) time.Duration {
	next := now.Add(l.opts.Threshold)
	if l.full == nil {
		next = earlier(next, l.fullDue(now))
		if len(l.retry) > 0 {
			next = earlier(next, l.retryDue(now))
		}
	}
	for c := range l.calls {
		next = earlier(next, c.deadline)
	}
	for uid := range l.heldBack {
		if until := l.inbox.heldUntil(uid, now); !until.IsZero() {
			next = earlier(next, until)
		}
	}
	for _, uid := range l.order {
		if until := l.inbox.heldUntil(uid, now); !until.IsZero() {
			next = earlier(next, until)
		}
	}
	return max(0, next.Sub(now))
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
