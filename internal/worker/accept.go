package worker

// onAdopt adopts a pod that an earlier podctl left running. It has started and holds its
// name, so that a stop goes through Terminate. Another holder of the name keeps it from
// Sync, but not from being stopped.
func (m *machine) onAdopt(ev Adopt) {
	if m.s.Phase != Unknown || ev.Pod == nil {
		return
	}
	m.s.UID, m.s.Name, m.s.Namespace = ev.Pod.UID, ev.Pod.Name, ev.Pod.Namespace
	m.enterPhase(Syncing)
	m.s.Active = Work{Pod: ev.Pod, Exclusive: ev.Exclusive}
	m.s.Started, m.s.ObservedRuntime = true, true
	if ev.Exclusive {
		m.holdName()
	}
	// The update that follows decides what becomes of the pod. The wake-up is for the
	// case that none comes.
	m.emit(Wake{ResyncPeriod})
}

// holdName makes a pod that runs already a holder of its name.
func (m *machine) holdName() {
	m.s.HoldsName = true
	m.emit(Name{NameHold})
}

// acceptRequest applies an update or a kill (UpdatePod in pkg/kubelet/pod_workers.go): it
// decides whether this is a stop request, merges the grace, keeps the request as pending,
// and starts it if it can.
func (m *machine) acceptRequest(r request) {
	if r.work.IsZero() {
		return
	}
	first := m.s.Phase == Unknown
	if first {
		m.initPod(r)
	}
	fromRuntime := r.work.Runtime != nil
	if fromRuntime {
		m.s.ObservedRuntime = true
		// The runtime knows less of the pod than its spec says.
		if known := m.s.latest(); known.Pod != nil {
			r.work = Work{Pod: known.Pod, Exclusive: known.Exclusive}
		}
	}

	switch {
	case !first && m.s.Phase >= Terminating && r.work.Type == TypeCreate:
		m.s.Recreate = true
		return
	case m.s.Phase == Finished:
		m.releaseWaiters(r.kill.Waiter)
		return
	case m.s.Phase == Terminated && fromRuntime:
		// The listing was older than the end of the pod.
		return
	}

	interrupt := false
	if m.s.Phase == Syncing {
		if cause := r.stopCause(fromRuntime); cause != CauseNone {
			m.requestStop(cause)
			interrupt = true
		}
	}
	if m.s.Phase == Terminated {
		m.releaseWaiters(r.kill.Waiter)
	}
	if m.s.Phase == Terminating && m.mergeRequest(&r) {
		interrupt = true
	}

	m.s.Pending = r.work
	if interrupt {
		m.cancelOp()
	}
	m.startPending()
}

// mergeRequest adds a stop request to the earlier ones of a terminating pod, and sets the
// grace that results from all. It reports whether that shortens the grace.
func (m *machine) mergeRequest(r *request) (shorter bool) {
	m.addWaiter(r.kill.Waiter)
	if r.kill.Status != (StatusOverride{}) {
		m.s.Status = r.kill.Status
	}
	before := m.s.Grace
	m.s.Grace = effectiveGrace(before, r.work.Pod, r.kill.Grace)
	r.work.Grace = m.s.Grace
	return before != 0 && m.s.Grace < before
}

// initPod sets the state of a pod at its first request.
func (m *machine) initPod(r request) {
	m.s.UID, m.s.Name, m.s.Namespace = r.uid, r.name, r.namespace
	m.enterPhase(Syncing)
	if hasEnded(r.work.Pod) && r.runtimeEmpty {
		// It ended, and was stopped, before this process started: it is only to be
		// cleaned up.
		m.requestStop(CausePhase)
		m.enterPhase(Terminated)
		m.s.TerminatingSeen = true
	}
	switch {
	case !r.work.Exclusive:
	case r.work.Runtime != nil:
		m.s.Started = true
		m.holdName()
	default:
		m.emit(Name{NameJoin})
	}
}

// onDue syncs the pod again, as the kubelet's work queue does by an update of type sync.
// The last work of a pod that no source desires is repeated.
func (m *machine) onDue() {
	if m.s.Phase == Unknown || m.s.Phase == Finished || m.s.Running != OpNone {
		return
	}
	last := m.s.latest()
	if last.Pod == nil || m.s.Orphan {
		m.repeatLastWork()
		m.startPending()
		return
	}
	m.acceptRequest(requestOfPod(Work{Pod: last.Pod, Exclusive: last.Exclusive}, false))
}
