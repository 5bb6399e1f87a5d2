package worker

import (
	"time"

	"github.com/podctl/podctl/internal/event"
)

// done applies the outcome of the operation in flight (the end of
// podWorkerLoop in pkg/kubelet/pod_workers.go). An outcome of any other
// operation is ignored.
func (m *machine) done(ev OpDone) {
	if ev.Op == OpNone || ev.Op != m.s.Running {
		return
	}
	m.s.Running, m.s.RunningSince, m.s.Cancelled = OpNone, time.Time{}, false
	m.s.LastDone, m.s.LastError = m.now, event.FailureOf(ev.Op.String(), ev.Err)

	switch {
	case ev.Op == OpSync && m.s.Phase == Terminating:
		// Whatever it came to: the pod is to stop now.
		m.replay()
	case ev.Err != nil:
	case ev.Op == OpSync && ev.Terminal:
		m.stop(CauseCompleted)
		m.s.TerminatingSeen = true
		m.replay()
	case ev.Op == OpTerminate:
		m.enter(Terminated)
		m.release(0)
		m.replay()
	case ev.Op == OpTerminateRuntime:
		m.forget()
		return
	case ev.Op == OpCleanup:
		m.finish()
		return
	}

	if !m.s.Pending.IsZero() {
		m.advance()
		return
	}
	if ev.Err != nil {
		m.emit(Wake{retryAfter(m.now, ev.Err)})
		return
	}
	m.emit(Wake{ResyncPeriod})
}
