package metrics

import (
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/node/probe"
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

// rejectionReasons are the labels of admission_rejections_total, a fixed set:
// each new label would be a series for ever (admissionRejectionReasons in
// pkg/kubelet/kubelet.go).
var rejectionReasons = map[string]bool{
	"AppArmor": true, "PodOSSelectorNodeLabelDoesNotMatch": true, "PodOSNotSupported": true, "InvalidNodeInfo": true,
	"InitContainerRestartPolicyForbidden": true, "SupplementalGroupsPolicyNotSupported": true,
	"UnexpectedAdmissionError": true, "UnknownReason": true, "UnexpectedPredicateFailureType": true,
	"OutOfcpu": true, "OutOfmemory": true, "OutOfephemeral-storage": true, "OutOfpods": true,
	"PodLevelResourcesNotSupported": true, "PodFeatureUnsupported": true, "Evicted": true, "SysctlForbidden": true,
	"TopologyAffinityError": true, "NodeShutdown": true, "VolumeAttachmentLimitExceeded": true,
	"node(s) had taints that the pod didn't tolerate": true,
}

// Rejected counts a rejected pod.
func (m *Metrics) Rejected(reason string) {
	switch {
	case rejectionReasons[reason]:
	case strings.HasPrefix(reason, "OutOf"):
		reason = "OutOfExtendedResources"
	default:
		reason = "Other"
	}
	m.rejections.WithLabelValues(reason).Inc()
}

// Evicted counts an evicted pod; signal is the resource that it exceeded.
func (m *Metrics) Evicted(signal string) { m.evictions.WithLabelValues(signal).Inc() }

// Preempted counts a preempted pod; signal is the insufficient resource, "" if
// there was none.
func (m *Metrics) Preempted(signal string) { m.preemptions.WithLabelValues(signal).Inc() }

var _ probe.Observer = (*Metrics)(nil)

// probeResults are the kubelet's words (pkg/kubelet/prober/worker.go).
var probeResults = map[pod.ProbeResult]string{pod.ProbeUnknown: "unknown", pod.ProbeSuccess: "successful", pod.ProbeFailure: "failed"}

func (m *Metrics) initProbes() {
	m.probes = prometheus.NewCounterVec(prometheus.CounterOpts{
		Subsystem: "prober", Name: "probe_total", Help: "Number of probe results of a container, by result.",
	}, []string{"probe_type", "result", "container", "pod", "namespace", "pod_uid"})
	m.probeDuration = prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Subsystem: "prober", Name: "probe_duration_seconds", Help: "Duration in seconds of successful probes.",
	}, []string{"probe_type", "container", "pod", "namespace"})
	m.registry.MustRegister(m.probes, m.probeDuration)
}

// Probed implements probe.Observer.
func (m *Metrics) Probed(p *v1.Pod, container string, t probe.Type, answer pod.ProbeResult, took time.Duration) {
	m.probes.WithLabelValues(t.String(), probeResults[answer], container, p.Name, p.Namespace, string(p.UID)).Inc()
	if answer == pod.ProbeSuccess {
		m.probeDuration.WithLabelValues(t.String(), container, p.Name, p.Namespace).Observe(took.Seconds())
	}
}

// Stopped implements probe.Observer: a probe that has stopped has no metrics.
func (m *Metrics) Stopped(p *v1.Pod, container string, t probe.Type) {
	m.probes.DeletePartialMatch(prometheus.Labels{"probe_type": t.String(), "container": container, "pod_uid": string(p.UID)})
	m.probeDuration.DeleteLabelValues(t.String(), container, p.Name, p.Namespace)
}
