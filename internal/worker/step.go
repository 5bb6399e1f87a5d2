package worker

import (
	"slices"
	"time"

	"github.com/podctl/podctl/internal/pod/event"
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
		m.onAdopt(ev)
	case Update:
		m.acceptRequest(requestOfUpdate(ev))
	case Kill:
		m.acceptRequest(requestOfKill(ev))
	case KillRuntime:
		m.acceptRequest(requestOfRuntime(ev))
	case Due:
		m.onDue()
	case OpDone:
		m.onOpDone(ev)
	case Reconcile:
		m.onReconcile(ev)
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

// enterPhase sets the pod's phase.
func (m *machine) enterPhase(p Phase) {
	m.s.Phase, m.s.Since = p, m.now
}

// requestStop applies the first stop request: Syncing ends. A Sync in flight is told to
// end, and the next operation is a Terminate.
func (m *machine) requestStop(cause Cause) {
	m.enterPhase(Terminating)
	m.s.Cause = cause
	m.s.Deleted = m.s.Deleted || cause == CauseDeleted || cause == CauseRuntimeOnly || cause == CauseOrphaned
	m.s.Evicted = cause == CauseEvicted
}

// cancelOp tells the operation in flight to end early, once.
func (m *machine) cancelOp() {
	if m.s.Running != OpNone && !m.s.Cancelled {
		m.s.Cancelled = true
		m.emit(Cancel{})
	}
}

// addWaiter adds a waiter, unless it is 0.
func (m *machine) addWaiter(w WaiterID) {
	if w != 0 {
		m.s.Waiters = append(slices.Clip(m.s.Waiters), w)
	}
}

// releaseWaiters releases all waiters, and late, which came when the pod was down already
// (0 is none).
func (m *machine) releaseWaiters(late WaiterID) {
	m.addWaiter(late)
	if len(m.s.Waiters) > 0 {
		m.emit(Release{Waiters: m.s.Waiters})
		m.s.Waiters = nil
	}
}

// leaveName releases the pod's name.
func (m *machine) leaveName() {
	if m.s.HoldsName {
		m.s.HoldsName = false
		m.emit(Name{NameLeave})
	}
}

// finishPod makes the pod Finished: it is known until it is forgotten.
func (m *machine) finishPod() {
	m.enterPhase(Finished)
	m.s.Pending = Work{}
	m.releaseWaiters(0)
	m.leaveName()
	m.emit(Exit{})
}

// forgetPod makes the pod unknown.
func (m *machine) forgetPod() {
	exited := m.s.Phase == Finished
	m.releaseWaiters(0)
	m.leaveName()
	if !exited {
		m.emit(Exit{})
	}
	m.s = State{}
}

// onReconcile applies SyncKnownPods to one pod (removeTerminatedWorker in
// pkg/kubelet/pod_workers.go): a pod that is not desired is stopped, its stop is retried,
// and once Finished it is forgotten.
func (m *machine) onReconcile(ev Reconcile) {
	if m.s.Phase == Unknown {
		return
	}
	m.s.Orphan = !ev.Desired
	if m.s.Phase == Finished {
		if m.s.Orphan || m.s.Recreate {
			m.forgetPod()
		}
		return
	}
	if !m.s.Orphan {
		return
	}

	m.s.Deleted = true
	if !m.s.Started && !m.s.ObservedRuntime {
		m.forgetPod()
		return
	}
	if m.s.Phase == Syncing {
		m.requestStop(CauseOrphaned)
		// Remembered, not given: podsync works out the grace of an orphan.
		m.s.Grace = effectiveGrace(0, m.s.Active.Pod, nil)
		m.cancelOp()
	}
	m.repeatLastWork()
	m.startPending()
}

// onOpDone applies the outcome of the operation in flight (the end of
// podWorkerLoop in pkg/kubelet/pod_workers.go). An outcome of any other
// operation is ignored.
func (m *machine) onOpDone(ev OpDone) {
	if ev.Op == OpNone || ev.Op != m.s.Running {
		return
	}
	m.s.Running, m.s.RunningSince, m.s.Cancelled = OpNone, time.Time{}, false
	m.s.LastDone, m.s.LastError = m.now, event.FailureOf(ev.Op.String(), ev.Err)

	switch {
	case ev.Op == OpSync && m.s.Phase == Terminating:
		// Whatever its outcome: the pod is to stop now.
		m.repeatLastWork()
	case ev.Err != nil:
	case ev.Op == OpSync && ev.Terminal:
		m.requestStop(CauseCompleted)
		m.s.TerminatingSeen = true
		m.repeatLastWork()
	case ev.Op == OpTerminate:
		m.enterPhase(Terminated)
		m.releaseWaiters(0)
		m.repeatLastWork()
	case ev.Op == OpTerminateRuntime:
		m.forgetPod()
		return
	case ev.Op == OpCleanup:
		m.finishPod()
		return
	}

	if !m.s.Pending.IsZero() {
		m.startPending()
		return
	}
	if ev.Err != nil {
		m.emit(Wake{retryAfter(m.now, ev.Err)})
		return
	}
	m.emit(Wake{ResyncPeriod})
}
