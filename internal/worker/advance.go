package worker

// startPending starts the pending work if nothing is in flight and the pod may
// start (startPodSync in pkg/kubelet/pod_workers.go).
func (m *machine) startPending() {
	if m.s.Running != OpNone || m.s.Pending.IsZero() || m.s.Phase == Finished {
		return
	}
	if !m.s.Started && m.s.Pending.Runtime == nil {
		if m.s.Pending.Exclusive && m.s.Phase != Syncing {
			// It was stopped before it had its name: there is nothing to undo.
			m.finishPod()
			return
		}
		if m.s.Pending.Exclusive && !m.takeName() {
			return
		}
		m.s.Started = true
	}
	if m.s.Phase == Syncing && m.s.HoldsName && m.names.Holder != "" && m.names.Holder != m.s.UID {
		// Adopted beside another holder: only the first may go on.
		m.awaitName()
		return
	}
	m.startOp()
}

// takeName takes the pod's name if that is free and the pod is next in line.
func (m *machine) takeName() bool {
	if !m.names.mayTake(m.s.UID) {
		m.awaitName()
		return false
	}
	m.s.HoldsName = true
	m.emit(Name{NameTake})
	return true
}

func (m *machine) awaitName() {
	m.emit(Name{NameAwait})
	m.emit(Wake{BackOffPeriod})
}

// startOp starts the operation that the phase requires.
func (m *machine) startOp() {
	work := m.s.Pending
	m.s.Active, m.s.Pending = mergeWork(m.s.Active, work), Work{}

	op := m.nextOp(work)
	if op == OpTerminate || op == OpTerminateRuntime {
		m.s.TerminatingSeen = true
	}
	m.s.Running, m.s.RunningSince = op, m.now
	start := Start{Op: op, Work: work, Since: m.s.LastDone}
	if op != OpSync {
		start.Status = m.s.Status
	}
	m.emit(start)
}

// nextOp returns the operation that the phase requires.
func (m *machine) nextOp(work Work) Op {
	switch {
	case m.s.Phase == Syncing:
		return OpSync
	case m.s.Phase == Terminated:
		return OpCleanup
	case work.Pod == nil:
		return OpTerminateRuntime
	default:
		return OpTerminate
	}
}

// mergeWork returns the active work once next has started: the last grace stays where
// next has none (mergeLastUpdate in
// pkg/kubelet/pod_workers.go).
func mergeWork(active, next Work) Work {
	if next.Grace == 0 {
		next.Grace = active.Grace
	}
	return next
}

// repeatLastWork makes the last work pending again, unless newer work is pending.
func (m *machine) repeatLastWork() {
	if m.s.Pending.IsZero() {
		m.s.Pending = m.s.Active
	}
}
