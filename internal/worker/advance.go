package worker

// advance starts the pending work if nothing is in flight and the pod may
// start (startPodSync in pkg/kubelet/pod_workers.go).
func (m *machine) advance() {
	if m.s.Running != OpNone || m.s.Pending.IsZero() || m.s.Phase == Finished {
		return
	}
	if !m.s.Started && m.s.Pending.Runtime == nil {
		if m.s.Pending.Exclusive && m.s.Phase != Syncing {
			// It was stopped before it had its name: there is nothing to undo.
			m.finish()
			return
		}
		if m.s.Pending.Exclusive && !m.take() {
			return
		}
		m.s.Started = true
	}
	if m.s.Phase == Syncing && m.s.HoldsName && m.names.Holder != "" && m.names.Holder != m.s.UID {
		// Adopted beside another holder: only the first may go on.
		m.await()
		return
	}
	m.start()
}

// take takes the pod's name if it is free and the pod's turn.
func (m *machine) take() bool {
	if !m.names.mayTake(m.s.UID) {
		m.await()
		return false
	}
	m.s.HoldsName = true
	m.emit(Name{NameTake})
	return true
}

func (m *machine) await() {
	m.emit(Name{NameAwait})
	m.emit(Wake{BackOffPeriod})
}

// start begins the operation that the phase asks for.
func (m *machine) start() {
	work := m.s.Pending
	m.s.Active, m.s.Pending = remember(m.s.Active, work), Work{}

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

// nextOp is what the phase asks to be done with the work.
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

// remember is what remains of the active work once next has begun: the last
// grace stays where next has none (mergeLastUpdate in
// pkg/kubelet/pod_workers.go).
func remember(active, next Work) Work {
	if next.Grace == 0 {
		next.Grace = active.Grace
	}
	return next
}

// replay makes the last work pending again unless something newer is.
func (m *machine) replay() {
	if m.s.Pending.IsZero() {
		m.s.Pending = m.s.Active
	}
}
