package metrics

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/worker"
)

var _ worker.Observer = (*Metrics)(nil)

// firstObserved is a pod that is starting.
type firstObserved struct {
	at time.Time
	// synced: its first sync has begun.
	synced bool
}

func (m *Metrics) initPods() {
	m.workerDuration = m.histograms("pod_worker_duration_seconds",
		"Duration in seconds of one operation of a pod worker, by operation: create, update, sync, kill or terminated.", nil, "operation_type")
	m.workerStart = m.histogram("pod_worker_start_duration_seconds",
		"Seconds from the admission of a pod until its worker started.", nil)
	m.podStart = m.histogram("pod_start_duration_seconds",
		"Seconds from the admission of a pod until it was running.", startBuckets)
	m.restarted = m.counters("restarted_pods_total",
		"Number of pods restarted under their UID after they had terminated; static is true for static pods.", "static")
	m.orphaned = m.counter(m.subsystem, "orphaned_runtime_pods_total",
		"Number of pods of the runtime without a worker that no source desired, and that were therefore terminated.")
	m.userns = m.counter(m.subsystem, "started_user_namespaced_pods_total", "Number of pods with a user namespace that were to start.")
	m.usernsErrors = m.counter(m.subsystem, "started_user_namespaced_pods_errors_total", "Number of syncs in which a pod with a user namespace failed to start.")
	m.evictions = m.counters("evictions",
		"Number of evicted pods, by signal: emptydirfs.limit, ephemeralpodfs.limit, ephemeralcontainerfs.limit.", "eviction_signal")
	m.preemptions = m.counters("preemptions",
		"Number of pods preempted for a critical pod, by the insufficient resource.", "preemption_signal")
	m.rejections = m.counters("admission_rejections_total",
		"Number of rejected pods, by reason.", "reason")
}

// PhaseChanged implements worker.Observer.
func (m *Metrics) PhaseChanged(c worker.PhaseChange) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case c.From == worker.Unknown && c.To == worker.Syncing && !c.State.Started:
		m.seen[c.State.UID] = &firstObserved{at: c.At}
	case c.From == worker.Unknown && c.To == worker.Syncing && c.State.Running != worker.OpNone:
		m.seen[c.State.UID] = &firstObserved{at: c.At} // it began at once
	case c.To != worker.Syncing:
		delete(m.seen, c.State.UID)
	}
}

// OperationStarted implements worker.Observer.
func (m *Metrics) OperationStarted(o worker.Operation) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.seen[o.UID]; s != nil && !s.synced && o.Op == worker.OpSync {
		s.synced = true
		m.workerStart.Observe(o.At.Sub(s.at).Seconds())
	}
}

// OperationDone implements worker.Observer.
func (m *Metrics) OperationDone(o worker.Operation) {
	m.workerDuration.WithLabelValues(operationType(o)).Observe(o.Took.Seconds())
}

// operationType returns the kubelet's word (podWorkerLoop in pkg/kubelet/pod_workers.go).
func operationType(o worker.Operation) string {
	switch o.Op {
	case worker.OpTerminate, worker.OpTerminateRuntime:
		return "kill"
	case worker.OpCleanup:
		return "terminated"
	default:
		return o.Type.String()
	}
}

// StatusChanged implements node.Observer.
func (m *Metrics) StatusChanged(p *v1.Pod, _, after v1.PodPhase) {
	if after == v1.PodPending {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if s := m.seen[p.UID]; s != nil {
		delete(m.seen, p.UID)
		m.podStart.Observe(m.now().Sub(s.at).Seconds())
	}
}

// StartedUserNamespaced implements node.Observer.
func (m *Metrics) StartedUserNamespaced(err error) {
	m.userns.Inc()
	if err != nil {
		m.usernsErrors.Inc()
	}
}

// Restarted implements node.Observer.
func (m *Metrics) Restarted(p *v1.Pod) { m.restarted.WithLabelValues(staticLabel(p)).Inc() }

// OrphanFound implements node.Observer.
func (m *Metrics) OrphanFound() { m.orphaned.Inc() }

// staticLabel returns the kubelet's label: "true", or nothing.
func staticLabel(p *v1.Pod) string {
	if pod.IsStatic(p) {
		return "true"
	}
	return ""
}
