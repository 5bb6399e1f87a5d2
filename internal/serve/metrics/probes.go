package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/node/probe"
	"github.com/podctl/podctl/internal/pod"
)

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
