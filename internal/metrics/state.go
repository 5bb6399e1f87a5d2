package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pleg"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/worker"
)

// State is what gauges are counted from.
type State struct {
	// Desired are the pods that sources want, Active those of them that have
	// not ended.
	Desired, Active []*v1.Pod
	Workers         []worker.Info
	// Runtime is what the runtime holds.
	Runtime []*pod.Pod
	// PLEG is what the PLEG is doing, Unhinted how many changes came without a
	// hint so far.
	PLEG     pleg.Health
	Unhinted int
	// Calls of the runtime in flight: since when the oldest of each method.
	Calls map[string]time.Time
}

func prometheusGauge(m *Metrics, subsystem, name, help string) prometheus.Gauge {
	g := prometheus.NewGauge(prometheus.GaugeOpts{Subsystem: subsystem, Name: name, Help: help})
	m.registry.MustRegister(g)
	return g
}

func desc(subsystem, name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(prometheus.BuildFQName("", subsystem, name), help, labels, nil)
}

var (
	desiredPods = desc(kubelet, "desired_pods", "How many pods are to run; static is true for static pods.", "static")
	activePods  = desc(kubelet, "active_pods", "How many of the desired pods have not ended, and count when another is to be let in.", "static")
	mirrorPods  = desc(kubelet, "mirror_pods", "How many mirror pods there are: none, without an API server.")
	workingPods = desc(kubelet, "working_pods",
		"How many pods there are workers for, by lifecycle, by whether they are desired, orphaned or known to the runtime only, and whether they are static.",
		"lifecycle", "config", "static")
	runningPods       = desc(kubelet, "running_pods", "How many pods of the runtime have a ready sandbox.")
	runningContainers = desc(kubelet, "running_containers", "How many containers the runtime holds, by state.", "container_state")

	plegInFlight = desc(own, "pleg_call_in_flight_seconds",
		"For how long, in seconds, the oldest call of the PLEG has been without an answer; 0 without one.")
	plegUnhinted = desc(own, "pleg_unhinted_changes_total", "How many changes the runtime sent no event of, though its stream was open.")
	plegProved   = desc(own, "pleg_hints_proved", "1 while the runtime's events stretch the time between full relists.")
	callInFlight = desc(own, "runtime_operation_in_flight_seconds",
		"For how long, in seconds, the oldest call of the runtime has been without an answer, by operation; nothing without one.", "operation_type")
	workInFlight = desc(own, "worker_operation_in_flight_seconds",
		"For how long, in seconds, the oldest operation of a pod worker has been going on, by operation; nothing without one.", "operation_type")
	overrun = desc(own, "pod_grace_overrun_seconds",
		"By how much, in seconds, the pod that is most overdue has overrun its grace period; 0 if none has.")
)

var stateDescs = []*prometheus.Desc{
	desiredPods, activePods, mirrorPods, workingPods, runningPods, runningContainers,
	plegInFlight, plegUnhinted, plegProved, callInFlight, workInFlight, overrun,
}

// stateCollector counts at each scrape.
type stateCollector struct{ m *Metrics }

// Describe implements prometheus.Collector.
func (c *stateCollector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range stateDescs {
		to <- d
	}
}

// Collect implements prometheus.Collector. Without a state there is nothing.
func (c *stateCollector) Collect(to chan<- prometheus.Metric) {
	c.m.mu.Lock()
	state := c.m.state
	c.m.mu.Unlock()
	if state == nil {
		return
	}
	s, now := state(), c.m.now()
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	for _, label := range []string{"", "true"} {
		gauge(desiredPods, float64(countStatic(s.Desired, label)), label)
		gauge(activePods, float64(countStatic(s.Active, label)), label)
	}
	gauge(mirrorPods, 0)
	for w, n := range working(s.Workers) {
		gauge(workingPods, float64(n), w.lifecycle, w.config, w.static)
	}
	pods, containers := running(s.Runtime)
	gauge(runningPods, float64(pods))
	for state, n := range containers {
		gauge(runningContainers, float64(n), state)
	}

	age := 0.0
	if len(s.PLEG.InFlight) > 0 {
		age = seconds(now, s.PLEG.InFlight[0].Since)
	}
	gauge(plegInFlight, age)
	to <- prometheus.MustNewConstMetric(plegUnhinted, prometheus.CounterValue, float64(s.Unhinted))
	proved := 0.0
	if s.PLEG.Hints.Proved {
		proved = 1
	}
	gauge(plegProved, proved)
	for method, since := range s.Calls {
		gauge(callInFlight, seconds(now, since), operationName(method))
	}
	operations, late := overdue(s.Workers, now)
	for op, since := range operations {
		gauge(workInFlight, seconds(now, since), op)
	}
	gauge(overrun, late.Seconds())
}

func seconds(now, since time.Time) float64 { return max(0, now.Sub(since).Seconds()) }

func countStatic(pods []*v1.Pod, label string) int {
	n := 0
	for _, p := range pods {
		if static(p) == label {
			n++
		}
	}
	return n
}

// workingLabels are those of working_pods.
type workingLabels struct{ lifecycle, config, static string }

// working counts as HandlePodCleanups does (pkg/kubelet/kubelet_pods.go): every
// combination that there can be has a value, if only 0.
func working(workers []worker.Info) map[workingLabels]int {
	counts := map[workingLabels]int{}
	for _, lifecycle := range []string{"sync", "terminating", "terminated"} {
		for _, static := range []string{"", "true"} {
			counts[workingLabels{lifecycle, "desired", static}] = 0
			counts[workingLabels{lifecycle, "orphan", static}] = 0
		}
		counts[workingLabels{lifecycle, "runtime_only", "unknown"}] = 0
	}
	for _, w := range workers {
		l := workingLabels{lifecycle: w.Phase.Lifecycle(), config: "desired"}
		switch p := w.Pod(); {
		case p == nil:
			l.config, l.static = "runtime_only", "unknown"
		case w.Orphan:
			l.config, l.static = "orphan", static(p)
		default:
			l.static = static(p)
		}
		counts[l]++
	}
	return counts
}

// running counts pods with a ready sandbox, and containers by state
// (updateRunningPodAndContainerMetrics in pkg/kubelet/pleg/generic.go).
func running(pods []*pod.Pod) (ready int, containers map[string]int) {
	containers = map[string]int{pod.Running.String(): 0}
	for _, p := range pods {
		for _, s := range p.Sandboxes {
			if s.State == pod.Running {
				ready++
				break
			}
		}
		for _, c := range p.Containers {
			containers[c.State.String()]++
		}
	}
	return ready, containers
}

// overdue is since when the oldest operation of each kind goes on, and the
// worst overrun of a grace period.
func overdue(workers []worker.Info, now time.Time) (operations map[string]time.Time, late time.Duration) {
	operations = map[string]time.Time{}
	for _, w := range workers {
		if w.Running != worker.OpNone {
			op := w.Running.String()
			if since, ok := operations[op]; !ok || w.RunningSince.Before(since) {
				operations[op] = w.RunningSince
			}
		}
		if w.Phase == worker.Terminating && w.Grace > 0 {
			late = max(late, now.Sub(w.Since)-time.Duration(w.Grace)*time.Second)
		}
	}
	return operations, late
}
