package metrics

import (
	"time"

	"github.com/podctl/podctl/internal/pleg"
)

var _ pleg.Observer = (*Metrics)(nil)

func (m *Metrics) initPLEG() {
	m.relistDuration = m.histogram("pleg_relist_duration_seconds", "How long listing all pods of the runtime took, in seconds.", nil)
	m.relistInterval = m.histogram("pleg_relist_interval_seconds", "How long it was, in seconds, from the beginning of one full relist to that of the next.", nil)
	m.lastSeen = prometheusGauge(m, m.subsystem, "pleg_last_seen_seconds", "When the last full relist began that the runtime answered, as a Unix time in seconds.")
	m.podRelistDuration = m.histogram("pleg_pod_relist_duration_seconds", "How long listing a single pod took, in seconds.", nil)
	m.counter(m.subsystem, "pleg_discard_events", "How many events of the PLEG were dropped: none.")
	m.connections = m.counter(m.subsystem, "evented_pleg_connection_success_count", "How often the runtime's event stream was opened.")
	m.connectionErrors = m.counter(m.subsystem, "evented_pleg_connection_error_count", "How often the runtime's event stream could not be opened, or broke.")
	m.hintLatency = m.histogram("evented_pleg_connection_latency_seconds", "How old the runtime's events were when they came, in seconds.", nil)
	m.hints = m.counter(own, "pleg_hints_total", "How many events the runtime sent.")
	m.neededHints = m.counter(own, "pleg_needed_hints_total", "How many relists that an event of the runtime asked for found a change.")
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

// StatusRead implements pleg.Observer. The calls that it is made of are
// counted as runtime operations.
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
