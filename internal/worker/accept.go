package worker

// adopt takes over a pod that an earlier podctl left running. It has started
// and holds its name, so that a stop goes through Terminate. Who holds the
// name already does not let it Sync, but may not keep it from being stopped.
func (m *machine) adopt(ev Adopt) {
	if m.s.Phase != Unknown || ev.Pod == nil {
		return
	}
	m.s.UID, m.s.Name, m.s.Namespace = ev.Pod.UID, ev.Pod.Name, ev.Pod.Namespace
	m.enter(Syncing)
	m.s.Active = Work{Pod: ev.Pod, Exclusive: ev.Exclusive}
	m.s.Started, m.s.ObservedRuntime = true, true
	if ev.Exclusive {
		m.hold()
	}
	// Whatever is to become of the pod comes as an update. Should none come, it
	// is not lost.
	m.emit(Wake{ResyncPeriod})
}

// hold takes the name of a pod that runs already.
func (m *machine) hold() {
	m.s.HoldsName = true
	m.emit(Name{NameHold})
}

// accept takes an update or a kill in (UpdatePod in
// pkg/kubelet/pod_workers.go): it decides whether this is a stop request,
// merges the grace, keeps the request as pending, and starts it if it can.
func (m *machine) accept(r request) {
	if r.work.IsZero() {
		return
	}
	first := m.s.Phase == Unknown
	if first {
		m.begin(r)
	}
	fromRuntime := r.work.Runtime != nil
	if fromRuntime {
		m.s.ObservedRuntime = true
		// The runtime does not know enough of a pod to do it justice.
		if known := m.s.latest(); known.Pod != nil {
			r.work = Work{Pod: known.Pod, Exclusive: known.Exclusive}
		}
	}

	switch {
	case !first && m.s.Phase >= Terminating && r.work.Type == TypeCreate:
		m.s.Recreate = true
		return
	case m.s.Phase == Finished:
		m.release(r.kill.Waiter)
		return
	case m.s.Phase == Terminated && fromRuntime:
		// The listing was older than the end of the pod.
		return
	}

	interrupt := false
	if m.s.Phase == Syncing {
		if cause := r.cause(fromRuntime); cause != CauseNone {
			m.stop(cause)
			interrupt = true
		}
	}
	if m.s.Phase == Terminated {
		m.release(r.kill.Waiter)
	}
	if m.s.Phase == Terminating && m.merge(&r) {
		interrupt = true
	}

	m.s.Pending = r.work
	if interrupt {
		m.cancel()
	}
	m.advance()
}

// merge adds a request to those that the terminating pod has had, and gives it
// the grace that comes of them all. It reports whether that shortens the grace.
func (m *machine) merge(r *request) (shorter bool) {
	m.wait(r.kill.Waiter)
	if r.kill.Status != (StatusOverride{}) {
		m.s.Status = r.kill.Status
	}
	before := m.s.Grace
	m.s.Grace = effectiveGrace(before, r.work.Pod, r.kill.Grace)
	r.work.Grace = m.s.Grace
	return before != 0 && m.s.Grace < before
}

// begin is the first that the worker hears of a pod.
func (m *machine) begin(r request) {
	m.s.UID, m.s.Name, m.s.Namespace = r.uid, r.name, r.namespace
	m.enter(Syncing)
	if ended(r.work.Pod) && r.runtimeEmpty {
		// It ended, and was stopped, before this process was there. What is
		// left to do is to clean up.
		m.stop(CausePhase)
		m.enter(Terminated)
		m.s.TerminatingSeen = true
	}
	switch {
	case !r.work.Exclusive:
	case r.work.Runtime != nil:
		m.s.Started = true
		m.hold()
	default:
		m.emit(Name{NameJoin})
	}
}

// due looks at the pod again, as the kubelet's work queue does by an update
// of type sync. A pod that no source desires has its last work replayed.
func (m *machine) due() {
	if m.s.Phase == Unknown || m.s.Phase == Finished || m.s.Running != OpNone {
		return
	}
	last := m.s.latest()
	if last.Pod == nil || m.s.Orphan {
		m.replay()
		m.advance()
		return
	}
	m.accept(requestOfPod(Work{Pod: last.Pod, Exclusive: last.Exclusive}, false))
}
