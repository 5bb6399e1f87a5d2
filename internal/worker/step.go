package worker

import (
	"slices"
	"time"
)

// Step is what one event does to one pod: its new state, and what is to be
// done about it, in order. It is total and pure: it never blocks, logs, reads a
// clock or draws a random number, and changes nothing that it is given. names
// is what the pod sees of its full name right now. A pod that is forgotten has
// the zero State.
func Step(s State, names NameView, now time.Time, ev Event) (State, []Effect) {
	m := machine{s: s, names: names, now: now}
	switch ev := ev.(type) {
	case Adopt:
		m.adopt(ev)
	case Update:
		m.accept(requestOfUpdate(ev))
	case Kill:
		m.accept(requestOfKill(ev))
	case KillRuntime:
		m.accept(requestOfRuntime(ev))
	case Due:
		m.due()
	case OpDone:
		m.done(ev)
	case Reconcile:
		m.reconcile(ev)
	}
	return m.s, m.effects
}

// machine is one Step in progress.
type machine struct {
	s       State
	names   NameView
	now     time.Time
	effects []Effect
}

func (m *machine) emit(e Effect) { m.effects = append(m.effects, e) }

// enter moves the pod on to a phase.
func (m *machine) enter(p Phase) {
	m.s.Phase, m.s.Since = p, m.now
}

// stop is the first stop request: Syncing ends here. A Sync in flight is told
// to end, and whatever runs next is a Terminate.
func (m *machine) stop(cause Cause) {
	m.enter(Terminating)
	m.s.Cause = cause
	m.s.Deleted = m.s.Deleted || cause == CauseDeleted || cause == CauseRuntimeOnly || cause == CauseOrphaned
	m.s.Evicted = cause == CauseEvicted
}

// cancel tells the operation in flight to end early, once.
func (m *machine) cancel() {
	if m.s.Running != OpNone && !m.s.Cancelled {
		m.s.Cancelled = true
		m.emit(Cancel{})
	}
}

// wait remembers a waiter.
func (m *machine) wait(w WaiterID) {
	if w != 0 {
		m.s.Waiters = append(slices.Clip(m.s.Waiters), w)
	}
}

// release lets go of all waiters, and of late, who came when there was nothing
// to wait for any more (0 is none).
func (m *machine) release(late WaiterID) {
	m.wait(late)
	if len(m.s.Waiters) > 0 {
		m.emit(Release{Waiters: m.s.Waiters})
		m.s.Waiters = nil
	}
}

// leaveName gives the name back.
func (m *machine) leaveName() {
	if m.s.HoldsName {
		m.s.HoldsName = false
		m.emit(Name{NameLeave})
	}
}

// finish ends the pod's way; it is remembered until it is forgotten.
func (m *machine) finish() {
	m.enter(Finished)
	m.s.Pending = Work{}
	m.release(0)
	m.leaveName()
	m.emit(Exit{})
}

// forget drops all there is to know of the pod.
func (m *machine) forget() {
	exited := m.s.Phase == Finished
	m.release(0)
	m.leaveName()
	if !exited {
		m.emit(Exit{})
	}
	m.s = State{}
}
