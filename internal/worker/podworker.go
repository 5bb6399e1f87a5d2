package worker

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// podWorker is one pod's state and what carries out its effects. Workers.mu guards all of
// it. A pod has a goroutine only while an operation is in flight: an idle pod costs no
// stack.
type podWorker struct {
	state State
	// cancel ends the operation in flight.
	cancel context.CancelFunc

	// timer is the wake-up pending, nil if none is, and wakeAt its time.
	timer  *time.Timer
	wakeAt time.Time
}

// step gives one event to the pod's state and carries the effects out. w.mu
// is held.
func (w *Workers) step(uid types.UID, ev Event) {
	if w.closed {
		return
	}
	p := w.pods[uid]
	if p == nil {
		p = &podWorker{}
	}
	t := now()
	before := p.state
	after, effects := Step(before, w.nameView(uid, before, ev), t, ev)
	p.state = after
	if after.Phase == Unknown {
		delete(w.pods, uid)
	} else {
		w.pods[uid] = p
	}

	identity := after
	if after.Phase == Unknown {
		identity = before
	}
	w.notifications.phaseChanged(before, after, t)
	for _, e := range effects {
		w.carryOut(p, identity, e)
	}
}

// carryOut carries one effect out. s is the pod as it is now, or was
// before it was forgotten. w.mu is held.
func (w *Workers) carryOut(p *podWorker, s State, e Effect) {
	switch e := e.(type) {
	case Start:
		p.stopTimer()
		var ctx context.Context
		ctx, p.cancel = context.WithCancel(w.base)
		w.notifications.operationStarted(s, e)
		w.running.Go(func() { w.runOp(ctx, p, s.UID, e) })
	case Cancel:
		p.cancel()
	case Wake:
		w.scheduleWake(p, s.UID, e.After)
	case Release:
		for _, id := range e.Waiters {
			close(w.waiters[id])
			delete(w.waiters, id)
		}
	case Name:
		w.names.Apply(e.Change, s.FullName(), s.UID, w.mayStart)
		if e.Change == NameLeave && w.opts.WakeOnRelease {
			w.wakeNextInLine(s.FullName())
		}
	case Exit:
		p.stopTimer()
	}
}

// runOp is the goroutine of one operation: it carries it out, and reports the
// outcome.
func (w *Workers) runOp(ctx context.Context, p *podWorker, uid types.UID, start Start) {
	began := now()
	terminal, err := callOp(ctx, w.opts.Ops, start)
	took := now().Sub(began)

	w.mu.Lock()
	p.cancel()
	w.notifications.operationDone(p.state, start, began, took, err)
	w.step(uid, OpDone{Op: start.Op, Terminal: terminal, Err: err})
	w.mu.Unlock()
	w.notifications.deliver()
}

// scheduleWake schedules a Due, in place of one that is scheduled already.
func (w *Workers) scheduleWake(p *podWorker, uid types.UID, after time.Duration) {
	p.stopTimer()
	after += time.Duration(w.opts.Jitter() * float64(after) / 2)
	p.wakeAt = now().Add(after)
	var timer *time.Timer
	timer = time.AfterFunc(after, func() {
		w.mu.Lock()
		// A timer that was stopped may have fired before that.
		if p.timer == timer {
			p.stopTimer()
			w.step(uid, Due{})
		}
		w.mu.Unlock()
		w.notifications.deliver()
	})
	p.timer = timer
}

func (p *podWorker) stopTimer() {
	if p.timer != nil {
		p.timer.Stop()
		p.timer, p.wakeAt = nil, time.Time{}
	}
}

// nameView returns what the pod sees of its full name, which is that of its first
// event.
func (w *Workers) nameView(uid types.UID, s State, ev Event) NameView {
	fullName := s.FullName()
	if s.Phase == Unknown {
		fullName = fullNameOf(ev)
	}
	return w.names.View(fullName, uid, w.mayStart)
}

// mayStart reports whether a pod may still start, or run on.
func (w *Workers) mayStart(uid types.UID) bool {
	p, ok := w.pods[uid]
	return ok && p.state.Phase == Syncing
}

// wakeNextInLine gives a free name, or one whose first holder changed, to the pod
// that waits for it.
func (w *Workers) wakeNextInLine(fullName string) {
	v := w.names.View(fullName, "", w.mayStart)
	next := v.Holder
	if next == "" {
		next = v.Next
	}
	if p, ok := w.pods[next]; ok && p.state.waitsForName() {
		w.step(next, Due{})
	}
}
