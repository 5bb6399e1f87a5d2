package metrics

import (
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/apimachinery/pkg/types"
)

// kubelet is the subsystem of the kubelet's names, own that of podctl's.
const (
	kubelet = "kubelet"
	own     = "podctl"
)

// startBuckets are those of pod_start_duration_seconds.
var startBuckets = []float64{0.5, 1, 2, 3, 4, 5, 6, 8, 10, 20, 30, 45, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600}

// Metrics are the metrics of one node. Make them with New.
type Metrics struct {
	registry *prometheus.Registry
	// subsystem is kubelet, or own for an observer.
	subsystem string
	now       func() time.Time

	workerDuration *prometheus.HistogramVec
	workerStart    prometheus.Histogram
	podStart       prometheus.Histogram
	restarted      *prometheus.CounterVec
	orphaned       prometheus.Counter
	userns         prometheus.Counter
	usernsErrors   prometheus.Counter
	evictions      *prometheus.CounterVec
	preemptions    *prometheus.CounterVec
	rejections     *prometheus.CounterVec
	admitted       *prometheus.CounterVec
	deferred       *prometheus.HistogramVec

	operations         *prometheus.CounterVec
	operationsDuration *prometheus.HistogramVec
	operationsErrors   *prometheus.CounterVec
	startedPods        prometheus.Counter
	startedPodsErrors  prometheus.Counter

	relistDuration    prometheus.Histogram
	relistInterval    prometheus.Histogram
	lastSeen          prometheus.Gauge
	podRelistDuration prometheus.Histogram
	connections       prometheus.Counter
	connectionErrors  prometheus.Counter
	hintLatency       prometheus.Histogram
	hints             prometheus.Counter
	neededHints       prometheus.Counter

	probes        *prometheus.CounterVec
	probeDuration *prometheus.HistogramVec

	mu sync.Mutex
	// seen are the admitted pods whose first sync, and then first running
	// container, is awaited.
	seen  map[types.UID]*firstObserved
	state func() State
}

// New returns the metrics of a podctl process that manages pods, under the
// kubelet's names. now is the clock; nil is time.Now.
func New(now func() time.Time) *Metrics {
	m := newMetrics(kubelet, now)
	m.registry.MustRegister(&collector{m, true})
	m.initPods()
	m.initResources()
	m.initRuntime()
	m.initPLEG()
	m.initProbes()
	return m
}

// NewObserver returns the metrics of a podctl process that observes a runtime and
// manages no pods. All names begin with podctl_: the kubelet beside it exports
// the same facts under its own names.
func NewObserver(now func() time.Time) *Metrics {
	m := newMetrics(own, now)
	m.registry.MustRegister(&collector{m, false})
	m.initRuntime()
	m.initPLEG()
	return m
}

func newMetrics(subsystem string, now func() time.Time) *Metrics {
	if now == nil {
		now = time.Now
	}
	m := &Metrics{registry: prometheus.NewRegistry(), subsystem: subsystem, now: now, seen: map[types.UID]*firstObserved{}}
	m.registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// Handler serves the metrics.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Registry: m.registry})
}

// SetStateFunc sets the function that returns the state for gauges. It is called at each
// scrape and must not block.
func (m *Metrics) SetStateFunc(state func() State) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.state = state
}

func (m *Metrics) counter(subsystem, name, help string) prometheus.Counter {
	c := prometheus.NewCounter(prometheus.CounterOpts{Subsystem: subsystem, Name: name, Help: help})
	m.registry.MustRegister(c)
	return c
}

func (m *Metrics) counters(name, help string, labels ...string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Subsystem: m.subsystem, Name: name, Help: help}, labels)
	m.registry.MustRegister(c)
	return c
}

// histogram registers a histogram, with the default buckets if buckets is nil.
func (m *Metrics) histogram(name, help string, buckets []float64) prometheus.Histogram {
	h := prometheus.NewHistogram(prometheus.HistogramOpts{Subsystem: m.subsystem, Name: name, Help: help, Buckets: buckets})
	m.registry.MustRegister(h)
	return h
}

func (m *Metrics) histograms(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Subsystem: m.subsystem, Name: name, Help: help, Buckets: buckets}, labels)
	m.registry.MustRegister(h)
	return h
}
