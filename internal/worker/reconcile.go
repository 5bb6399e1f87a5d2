package worker

// reconcile is SyncKnownPods for one pod (removeTerminatedWorker in
// pkg/kubelet/pod_workers.go): a pod that is not desired is stopped, its
// stopping is tried again, and once Finished it is forgotten.
func (m *machine) reconcile(ev Reconcile) {
	if m.s.Phase == Unknown {
		return
	}
	m.s.Orphan = !ev.Desired
	if m.s.Phase == Finished {
		if m.s.Orphan || m.s.Recreate {
			m.forget()
		}
		return
	}
	if !m.s.Orphan {
		return
	}

	m.s.Deleted = true
	if !m.s.Started && !m.s.ObservedRuntime {
		m.forget()
		return
	}
	if m.s.Phase == Syncing {
		m.stop(CauseOrphaned)
		// Remembered, not given: podsync works out the grace of an orphan.
		m.s.Grace = effectiveGrace(0, m.s.Active.Pod, nil)
		m.cancel()
	}
	m.replay()
	m.advance()
}
