package pleg

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// loop is what the goroutine of Run owns. Nothing in it is locked, and none of
// its methods blocks: calls run elsewhere and post what follows to done.
type loop struct {
	*PLEG
	ctx  context.Context
	done chan func()
	// spawn makes a runtime call outside the loop; the function that the call
	// returns runs in the loop. Stepper replaces the goroutine.
	spawn   func(about Call, work func() (after func()))
	records map[types.UID]*record
	// ids are the containers and sandboxes of the newest listings, with their pods.
	ids   map[string]types.UID
	proof proof

	// full is the full relist in flight, nil if there is none. The last one
	// began and ended at these times; urgent, if set, is when the next one is
	// due before its period has passed.
	full               *fullRelist
	lastBegin, lastEnd time.Time
	urgent             time.Time
	failing            bool
	listed             bool // a full relist has succeeded
	// dirty pods wait for a relist of their own, in this order; singles are
	// those in flight.
	dirty   map[types.UID]mark
	order   []types.UID
	singles map[types.UID]*single
	// heldBack are the pods that have changed and whose status is read once their
	// hold ends.
	heldBack map[types.UID]struct{}
	// queue are the status reads that wait for their turn.
	queue []*reading
	// calls are the single relists and status reads in flight, at most
	// Parallel; slow counts those among them that hung the last time.
	calls map[*call]struct{}
	slow  int
	// retry are the pods to be relisted at retryAt, unless a full relist comes
	// first: those that could not be listed or read, or were flagged.
	retry   map[types.UID]struct{}
	retryAt time.Time
}

func newLoop(ctx context.Context, p *PLEG) *loop {
	l := &loop{
		PLEG: p, ctx: ctx, done: make(chan func()),
		records: map[types.UID]*record{}, ids: map[string]types.UID{}, dirty: map[types.UID]mark{},
		singles: map[types.UID]*single{}, calls: map[*call]struct{}{}, retry: map[types.UID]struct{}{},
		heldBack: map[types.UID]struct{}{},
	}
	l.spawn = func(_ Call, work func() func()) {
		go func() { l.post(work()) }()
	}
	return l
}

func (l *loop) run() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-l.ctx.Done():
			return
		case <-timer.C:
		case <-l.box.wake:
		case f := <-l.done:
			f()
		}
		timer.Reset(l.step())
	}
}

// post hands what follows a call to the loop.
func (l *loop) post(f func()) {
	select {
	case l.done <- f:
	case <-l.ctx.Done():
	}
}

// step starts everything that is due and can be started. It returns the time
// until something else is due.
func (l *loop) step() time.Duration {
	now := l.opts.Now()
	l.expire(now)
	l.sort(l.box.take(), now)
	if l.full == nil && !now.Before(l.fullDue(now)) {
		l.startFull(now)
	}
	if l.full == nil && len(l.retry) > 0 && !now.Before(l.retryDue(now)) {
		l.startRetries()
	}
	l.startSingles(now)
	l.readHeldBack(now)
	l.startReads(now)
	return l.idle(now)
}

// sort processes the mailbox.
func (l *loop) sort(m mail, now time.Time) {
	seq := l.cache.lastSeq()
	if l.proof.sync(m.stream, seq) {
		l.fullBy(now)
	}
	for id, h := range m.hints {
		uid := l.owner(id, h.uid)
		if h.live && uid != "" {
			l.proof.hinted(uid)
		}
		if l.shown(uid, id, h.report) {
			continue
		}
		if uid == "" {
			// Most likely not a pod's: not more often than this.
			l.fullBy(later(now, l.lastBegin.Add(l.opts.Period/10)))
			continue
		}
		l.mark(uid, mark{source: FromHint, live: h.live, seq: seq, reports: map[string]report{id: h.report}})
	}
	for uid, k := range m.asked {
		k.blind = true
		l.mark(uid, k)
	}
	for uid := range m.reinspect {
		if rec := l.records[uid]; rec != nil {
			rec.reinspect = true
			l.retryLater(uid, now)
		}
	}
}

// owner maps a container's or sandbox's id to its pod: by the listings, as a
// deleted one is in none any more; else as the event had it.
func (l *loop) owner(id string, uid types.UID) types.UID {
	if known, ok := l.ids[id]; ok {
		return known
	}
	return uid
}

func (l *loop) mark(uid types.UID, m mark) {
	if old, ok := l.dirty[uid]; ok {
		m = old.merge(m)
	} else {
		l.order = append(l.order, uid)
	}
	l.dirty[uid] = m
}

// fullBy brings the next full relist forward to t.
func (l *loop) fullBy(t time.Time) {
	if l.urgent.IsZero() || t.Before(l.urgent) {
		l.urgent = t
	}
}

// fullDue is when the next full relist is due. The period is looked up each
// time, so that a doubt shortens it at once.
func (l *loop) fullDue(now time.Time) time.Time {
	due := l.lastEnd.Add(l.period(now))
	if !l.urgent.IsZero() && l.urgent.Before(due) {
		return l.urgent
	}
	return due
}

func (l *loop) period(now time.Time) time.Duration {
	proved := l.proof.proved(now)
	l.missed.Store(int64(l.proof.missed))
	switch {
	case l.opts.HintsOnly && l.proof.upToDate():
		return l.opts.Threshold / 3
	case proved:
		return l.opts.HintedPeriod
	}
	return l.opts.Period
}

// retryDue is when the pods to be retried are due: with the next full relist if
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
		l.mark(uid, mark{source: FromRelist, seq: seq, blind: true})
	}
	clear(l.retry)
}

// idle is the time until something is due.
func (l *loop) idle(now time.Time) time.Duration {
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
		if until := l.box.heldUntil(uid, now); !until.IsZero() {
			next = earlier(next, until)
		}
	}
	for _, uid := range l.order {
		if until := l.box.heldUntil(uid, now); !until.IsZero() {
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
