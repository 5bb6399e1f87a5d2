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
		m.desire(ev)
	case Undesire:
		m.undesire(ev)
	case Claim:
		if e.Phase == Waiting {
			m.enter(Starting)
		}
	case Defer:
		m.postpone(ev)
	case Reject:
		m.reject(ev)
	case Begin:
		m.begin(ev)
	case Found:
		m.found(ev)
	case Leftover:
		if e.Phase == None {
			m.e = Entry{Desired: ev.Desired, Origin: Adopted}
			m.remove()
		}
	case Forgotten:
		m.forgotten()
	case Cleaned:
		if e.Phase == Stopping {
			m.enter(Removed)
			m.e.Wait = Wait{}
		}
	case RemovalDone:
		m.removalDone(ev)
	case Stop:
		m.stop()
	case Start:
		m.start()
	case Retry:
		m.retry()
	}
	return m.e, m.actions
}

// machine is one Step in progress.
type machine struct {
	e       Entry
	now     time.Time
	actions []Action
}

func (m *machine) act(a Action) { m.actions = append(m.actions, a) }

func (m *machine) enter(p Phase) { m.e.Phase, m.e.Since = p, m.now }

// wait is the beginning of a life that is desired.
func (m *machine) wait(d Desired) {
	m.e = Entry{Desired: d, HoldNext: m.e.HoldNext}
	m.enter(Waiting)
	m.e.Wait.RetryAt = m.now
}

func (m *machine) desire(ev Desire) {
	switch m.e.Phase {
	case None:
		m.wait(ev.Desired)
		m.attempt()
	case Waiting:
		if m.changed(ev) {
			m.wait(ev.Desired)
		}
		m.attempt()
	case Rejected:
		if m.changed(ev) {
			m.wait(ev.Desired)
			m.attempt()
		}
	case Active:
		switch {
		case !m.changed(ev):
		case ev.InPlace:
			m.e.Desired = ev.Desired
			m.act(Update{ev.Pod})
		default:
			// Of a version that a running pod cannot become, or of a pod that has ended.
			m.leave(&ev.Desired, nil)
		}
	case Stopping, Removing, Removed:
		if m.e.Next == nil && m.e.Phase != Removing && ev.Known {
			m.act(Recreate{ev.Pod})
		}
		m.e.Next = &ev.Desired
	case Starting:
	}
}

func (m *machine) changed(ev Desire) bool { return !bytes.Equal(m.e.Document, ev.Document) }

// attempt tries to start the pod, if it is due.
func (m *machine) attempt() {
	if m.e.Wait.due(m.now) {
		m.act(Attempt{m.e.UID()})
	}
}

func (m *machine) undesire(ev Undesire) {
	switch m.e.Phase {
	case Waiting, Starting, Rejected:
		m.act(Drop{Pod: m.e.Pod})
		m.e = Entry{}
	case Active:
		m.leave(nil, ev.Grace)
	case Stopping, Removing, Removed:
		m.e.Next, m.e.HoldNext = nil, false
	case None:
	}
}

// leave ends this life of the pod; next follows it, unless that is nil.
func (m *machine) leave(next *Desired, grace *int64) {
	m.enter(Stopping)
	m.e.Next = next
	m.act(Kill{m.e.Pod, grace})
	if next != nil {
		m.act(Recreate{next.Pod})
	}
}

func (m *machine) postpone(ev Defer) {
	if m.e.Phase != Waiting && m.e.Phase != Starting {
		return
	}
	before := m.e.Wait
	m.enter(Waiting)
	m.e.Wait = before.after(m.now, ev.Reason, ev.Err)
	if m.e.Wait.news(before) {
		m.act(ReportWait{m.e.Pod, m.e.Wait})
	}
}

func (m *machine) reject(ev Reject) {
	if m.e.Phase != Starting {
		return
	}
	m.enter(Rejected)
	m.e.Wait, m.e.HoldNext, m.e.Rejection = Wait{}, false, ev.Err
	m.act(ReportRejection{m.e.Pod, ev.Err})
}

func (m *machine) begin(ev Begin) {
	if m.e.Phase != Starting {
		return
	}
	if m.e.HoldNext != ev.Held {
		// podctl stop came meanwhile: how it begins has to be decided again.
		m.enter(Waiting)
		m.e.Wait = Wait{RetryAt: m.now}
		return
	}
	d := m.e.Desired
	m.enter(Active)
	m.e.Pod, m.e.Wait, m.e.HoldNext = ev.Pod, Wait{}, false
	if ev.How != New {
		m.e.Origin = Adopted
	}
	m.act(Run{ev.Pod, ev.How})
	if ev.How == Finish {
		m.enter(Stopping)
		m.e.Next = &d
		m.act(Recreate{ev.Pod})
	}
}

func (m *machine) found(ev Found) {
	next := m.e.Next
	switch m.e.Phase {
	case None:
	case Waiting, Starting:
		d := m.e.Desired
		next = &d
	case Rejected, Active, Stopping, Removing, Removed:
		return
	}
	m.e = Entry{Desired: ev.Desired, Origin: Adopted, Next: next, HoldNext: m.e.HoldNext}
	m.enter(Stopping)
	m.act(TakeOver{ev.Pod, ev.Runtime})
	if next != nil {
		m.act(Recreate{next.Pod})
	}
}

func (m *machine) remove() {
	m.enter(Removing)
	m.act(Remove{m.e.UID()})
}

func (m *machine) forgotten() {
	switch m.e.Phase {
	case Stopping:
		if m.e.Wait.due(m.now) {
			m.remove()
		}
	case Removed:
		m.drop()
	case None, Waiting, Starting, Rejected, Active, Removing:
	}
}

// drop ends the entry, or begins the pod's next life, which the next Desire
// attempts.
func (m *machine) drop() {
	m.act(Drop{Pod: m.e.Pod, Again: m.e.Next != nil, Ran: true})
	if m.e.Next == nil {
		m.e = Entry{}
		return
	}
	m.wait(*m.e.Next)
}

func (m *machine) removalDone(ev RemovalDone) {
	switch {
	case m.e.Phase != Removing:
	case ev.Err != nil:
		m.enter(Stopping)
		m.e.Wait = m.e.Wait.after(m.now, RemovalFailed, ev.Err)
	default:
		m.drop()
	}
}

// stop takes a podctl stop of a life that has not begun.
func (m *machine) stop() {
	switch m.e.Phase {
	case Waiting, Starting:
		m.e.HoldNext = true
	case Stopping, Removing, Removed:
		m.e.HoldNext = m.e.Next != nil
	case None, Rejected, Active:
	}
}

// start takes a podctl start: what was stopped or has ended begins a new life,
// and what waits is tried now.
func (m *machine) start() {
	switch m.e.Phase {
	case Active:
		d := m.e.Desired
		m.enter(Stopping)
		m.e.Next = &d
		m.act(Recreate{m.e.Pod})
	case Waiting:
		m.e.HoldNext = false
		m.retry()
	case Starting, Stopping, Removing, Removed:
		m.e.HoldNext = false
	case None, Rejected:
	}
}

// retry has a pod that waits tried at the next Reconcile.
func (m *machine) retry() {
	if m.e.Phase == Waiting && m.now.Before(m.e.Wait.RetryAt) {
		m.e.Wait.RetryAt = m.now
	}
}
