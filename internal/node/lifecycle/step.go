package lifecycle

import (
	"bytes"
	"time"
)

// Step is what one event does to one pod: its new entry, and what is to be done
// about it, in order. It is total and pure. An event that says nothing to a pod
// in its phase leaves the entry as it is, without an action. A pod that is gone
// has the zero Entry.
func Step(e Entry, now time.Time, ev Event) (Entry, []Action) {
	m := machine{e: e, now: now}
	switch ev := ev.(type) {
	case Desire:
		m.onDesire(ev)
	case Undesire:
		m.onUndesire(ev)
	case Claim:
		if e.Phase == Waiting {
			m.enterPhase(Starting)
		}
	case Defer:
		m.onDefer(ev)
	case Reject:
		m.onReject(ev)
	case Begin:
		m.onBegin(ev)
	case Found:
		m.onFound(ev)
	case Leftover:
		if e.Phase == None {
			m.e = Entry{Desired: ev.Desired, Origin: Adopted}
			m.startRemoval()
		}
	case Forgotten:
		m.onForgotten()
	case Cleaned:
		if e.Phase == Stopping {
			m.enterPhase(Removed)
			m.e.Wait = Wait{}
		}
	case RemovalDone:
		m.onRemovalDone(ev)
	case Stop:
		m.onStop()
	case Start:
		m.onStart()
	case Retry:
		m.onRetry()
	}
	return m.e, m.actions
}

// machine is one Step in progress.
type machine struct {
	e       Entry
	now     time.Time
	actions []Action
}

func (m *machine) emit(a Action) { m.actions = append(m.actions, a) }

func (m *machine) enterPhase(p Phase) { m.e.Phase, m.e.Since = p, m.now }

// startWaiting begins a life of the pod that is desired.
func (m *machine) startWaiting(d Desired) {
	m.e = Entry{Desired: d, StopNext: m.e.StopNext}
	m.enterPhase(Waiting)
	m.e.Wait.RetryAt = m.now
}

func (m *machine) onDesire(ev Desire) {
	switch m.e.Phase {
	case None:
		m.startWaiting(ev.Desired)
		m.emitAttempt()
	case Waiting:
		if m.isChanged(ev) {
			m.startWaiting(ev.Desired)
		}
		m.emitAttempt()
	case Rejected:
		if m.isChanged(ev) {
			m.startWaiting(ev.Desired)
			m.emitAttempt()
		}
	case Active:
		switch {
		case !m.isChanged(ev):
		case ev.InPlace:
			m.e.Desired = ev.Desired
			m.emit(Update{ev.Pod})
		default:
			// A running pod cannot follow to this version, or the pod has ended.
			m.stopLife(&ev.Desired, nil)
		}
	case Stopping, Removing, Removed:
		if m.e.Next == nil && m.e.Phase != Removing && ev.Known {
			m.emit(Recreate{ev.Pod})
		}
		m.e.Next = &ev.Desired
	case Starting:
	}
}

func (m *machine) isChanged(ev Desire) bool { return !bytes.Equal(m.e.Document, ev.Document) }

// emitAttempt has the pod tried, if it is due.
func (m *machine) emitAttempt() {
	if m.e.Wait.isDue(m.now) {
		m.emit(Attempt{m.e.UID()})
	}
}

func (m *machine) onUndesire(ev Undesire) {
	switch m.e.Phase {
	case Waiting, Starting, Rejected:
		m.emit(Drop{Pod: m.e.Pod})
		m.e = Entry{}
	case Active:
		m.stopLife(nil, ev.Grace)
	case Stopping, Removing, Removed:
		m.e.Next, m.e.StopNext = nil, false
	case None:
	}
}

// stopLife stops this life of the pod; next follows it, unless that is nil.
func (m *machine) stopLife(next *Desired, grace *int64) {
	m.enterPhase(Stopping)
	m.e.Next = next
	m.emit(Kill{m.e.Pod, grace})
	if next != nil {
		m.emit(Recreate{next.Pod})
	}
}

func (m *machine) onDefer(ev Defer) {
	if m.e.Phase != Waiting && m.e.Phase != Starting {
		return
	}
	before := m.e.Wait
	m.enterPhase(Waiting)
	m.e.Wait = before.next(m.now, ev.Reason, ev.Err)
	if m.e.Wait.differs(before) {
		m.emit(ReportWait{m.e.Pod, m.e.Wait})
	}
}

func (m *machine) onReject(ev Reject) {
	if m.e.Phase != Starting {
		return
	}
	m.enterPhase(Rejected)
	m.e.Wait, m.e.StopNext, m.e.Rejection = Wait{}, false, ev.Err
	m.emit(ReportRejection{m.e.Pod, ev.Err})
}

func (m *machine) onBegin(ev Begin) {
	if m.e.Phase != Starting {
		return
	}
	if m.e.StopNext != ev.StopNext {
		// podctl stop came meanwhile: how the pod starts has to be decided again.
		m.enterPhase(Waiting)
		m.e.Wait = Wait{RetryAt: m.now}
		return
	}
	d := m.e.Desired
	m.enterPhase(Active)
	m.e.Pod, m.e.Wait, m.e.StopNext = ev.Pod, Wait{}, false
	if ev.Mode != New {
		m.e.Origin = Adopted
	}
	m.emit(Run{ev.Pod, ev.Mode})
	if ev.Mode == StopThenRestart {
		m.enterPhase(Stopping)
		m.e.Next = &d
		m.emit(Recreate{ev.Pod})
	}
}

func (m *machine) onFound(ev Found) {
	next := m.e.Next
	switch m.e.Phase {
	case None:
	case Waiting, Starting:
		d := m.e.Desired
		next = &d
	case Rejected, Active, Stopping, Removing, Removed:
		return
	}
	m.e = Entry{Desired: ev.Desired, Origin: Adopted, Next: next, StopNext: m.e.StopNext}
	m.enterPhase(Stopping)
	m.emit(TakeOver{ev.Pod, ev.Runtime})
	if next != nil {
		m.emit(Recreate{next.Pod})
	}
}

func (m *machine) startRemoval() {
	m.enterPhase(Removing)
	m.emit(Remove{m.e.UID()})
}

func (m *machine) onForgotten() {
	switch m.e.Phase {
	case Stopping:
		if m.e.Wait.isDue(m.now) {
			m.startRemoval()
		}
	case Removed:
		m.endLife()
	case None, Waiting, Starting, Rejected, Active, Removing:
	}
}

// endLife ends the entry, or begins the pod's next life, which the next Desire
// attempts.
func (m *machine) endLife() {
	m.emit(Drop{Pod: m.e.Pod, Again: m.e.Next != nil, Started: true})
	if m.e.Next == nil {
		m.e = Entry{}
		return
	}
	m.startWaiting(*m.e.Next)
}

func (m *machine) onRemovalDone(ev RemovalDone) {
	switch {
	case m.e.Phase != Removing:
	case ev.Err != nil:
		m.enterPhase(Stopping)
		m.e.Wait = m.e.Wait.next(m.now, RemovalFailed, ev.Err)
	default:
		m.endLife()
	}
}

// onStop applies podctl stop to a life that has not begun.
func (m *machine) onStop() {
	switch m.e.Phase {
	case Waiting, Starting:
		m.e.StopNext = true
	case Stopping, Removing, Removed:
		m.e.StopNext = m.e.Next != nil
	case None, Rejected, Active:
	}
}

// onStart applies podctl start: a pod that was stopped, has ended or was rejected begins a new
// life, and one that waits is tried now.
func (m *machine) onStart() {
	switch m.e.Phase {
	case Active:
		d := m.e.Desired
		m.enterPhase(Stopping)
		m.e.Next = &d
		m.emit(Recreate{m.e.Pod})
	case Waiting:
		m.e.StopNext = false
		m.onRetry()
	case Rejected:
		m.startWaiting(m.e.Desired)
	case Starting, Stopping, Removing, Removed:
		m.e.StopNext = false
	case None:
	}
}

// onRetry has a waiting pod tried at the next Reconcile.
func (m *machine) onRetry() {
	if m.e.Phase == Waiting && m.now.Before(m.e.Wait.RetryAt) {
		m.e.Wait.RetryAt = m.now
	}
}
