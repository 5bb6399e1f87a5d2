package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/podctl/podctl/internal/pleg"
)

var _ pleg.Observer = (*Metrics)(nil)

func (m *Metrics) initPLEG() {
	m.relistDuration = m.histogram("pleg_relist_duration_seconds", "Duration in seconds of listing all pods of the runtime.", nil)
	m.relistInterval = m.histogram("pleg_relist_interval_seconds", "Seconds from the start of one full relist to the start of the next.", nil)
	m.lastSeen = prometheus.NewGauge(prometheus.GaugeOpts{
		Subsystem: m.subsystem, Name: "pleg_last_seen_seconds", Help: "Start of the last successful full relist, as a Unix time in seconds.",
	})
	m.registry.MustRegister(m.lastSeen)
	m.podRelistDuration = m.histogram("pleg_pod_relist_duration_seconds", "Duration in seconds of listing a single pod.", nil)
	m.connections = m.counter(m.subsystem, "evented_pleg_connection_success_count", "Number of times that the runtime's event stream was opened.")
	m.connectionErrors = m.counter(m.subsystem, "evented_pleg_connection_error_count", "Number of times that the runtime's event stream could not be opened or was interrupted.")
	m.hintLatency = m.histogram("evented_pleg_connection_latency_seconds", "Age in seconds of the runtime's events on arrival.", nil)
	m.hints = m.counter(own, "pleg_hints_total", "Number of events from the runtime.")
	m.neededHints = m.counter(own, "pleg_needed_hints_total", "Number of relists triggered by an event of the runtime that found a change.")
}

// Relisted implements pleg.Observer.
func (m *Metrics) Relisted(took, interval time.Duration, err error) {
	m.relistDuration.Observe(took.Seconds())
	if interval > 0 {
		m.relistInterval.Observe(interval.Seconds())
	}
	if err == nil {
		m.lastSeen.Set(float64(m.now().Add(-took).Unix()))
	}
}

// PodRelisted implements pleg.Observer.
func (m *Metrics) PodRelisted(source pleg.Source, took time.Duration, changed bool, _ error) {
	m.podRelistDuration.Observe(took.Seconds())
	if source == pleg.FromHint && changed {
		m.neededHints.Inc()
	}
}

// StatusRead implements pleg.Observer. Its CRI calls are counted as runtime
// operations.
func (*Metrics) StatusRead(time.Duration, error) {}

// Hinted implements pleg.Observer.
func (m *Metrics) Hinted(latency time.Duration, backlog bool) {
	m.hints.Inc()
	if !backlog {
		m.hintLatency.Observe(latency.Seconds())
	}
}

// HintStream implements pleg.Observer.
func (m *Metrics) HintStream(err error) {
	if err == nil {
		m.connections.Inc()
		return
	}
	m.connectionErrors.Inc()
}
