package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/pleg"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/serve/survey"
	"github.com/podctl/podctl/internal/worker"
)

// State is the source of the gauges.
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
	// Unhealthy is why the PLEG is not healthy, nil if it is.
	Unhealthy error
	// Calls are the runtime calls without an answer, by method.
	Calls map[string]cri.Unanswered
	// Survey is what the last scan found, nil for a process that does not scan.
	Survey *survey.State
	// Connecting: the runtime has not answered since the process started. What it holds
	// is not known, and has no series.
	Connecting bool
}

// collector computes the gauges at each scrape. It describes none beforehand.
type collector struct {
	m *Metrics
	// manages: the process manages pods.
	manages bool
}

// Describe implements prometheus.Collector.
func (*collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector. Without a state it sends nothing.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	c.m.mu.Lock()
	state := c.m.state
	c.m.mu.Unlock()
	if state == nil {
		return
	}
	s, now := state(), c.m.now()
	send := samples{to, c.m.subsystem}
	if c.manages {
		send.managed(s, now)
	}
	if !s.Connecting {
		send.running(s.Runtime, c.manages)
	}
	send.subsystem = own
	age := 0.0
	if len(s.PLEG.InFlight) > 0 {
		age = seconds(now, s.PLEG.InFlight[0].Since)
	}
	send.gauge("pleg_call_in_flight_seconds",
		"Age in seconds of the oldest call of the PLEG without an answer, from the first try of a call that is retried; 0 without one.", age)
	send.gauge("pleg_healthy", "1 if the last relist and every call of the PLEG are younger than its threshold of 3 minutes, else 0.", boolValue(s.Unhealthy == nil))
	send.gauge("pleg_hints_proved", "1 while the runtime's events extend the period of full relists.", boolValue(s.PLEG.Hints.Proved))
	send.counter("pleg_unhinted_changes_total", "Number of changes without an event of the runtime while its stream was open.", float64(s.Unhinted))
	for operation, calls := range c.m.inFlight(s.Calls) {
		age := 0.0
		if calls.Number > 0 {
			age = seconds(now, calls.Since)
		}
		send.gauge("runtime_operations_in_flight",
			"Number of runtime calls without an answer, by operation. A call that is retried counts from its deadline to the answer.",
			float64(calls.Number), "operation_type", operation)
		send.gauge("runtime_operation_in_flight_seconds",
			"Age in seconds of the oldest runtime call without an answer, from the first try of a call that is retried, by operation; 0 without one.",
			age, "operation_type", operation)
	}
	if s.Survey != nil {
		send.survey(s.Survey, now)
	}
}

// samples sends the values of one scrape.
type samples struct {
	to        chan<- prometheus.Metric
	subsystem string
}

// gauge sends a value; labels are names, each followed by its value.
func (m samples) gauge(name, help string, value float64, labels ...string) {
	m.send(prometheus.GaugeValue, name, help, value, labels)
}

func (m samples) counter(name, help string, value float64) {
	m.send(prometheus.CounterValue, name, help, value, nil)
}

func (m samples) send(kind prometheus.ValueType, name, help string, value float64, labels []string) {
	var names, values []string
	for i := 0; i < len(labels); i += 2 {
		names, values = append(names, labels[i]), append(values, labels[i+1])
	}
	desc := prometheus.NewDesc(prometheus.BuildFQName("", m.subsystem, name), help, names, nil)
	m.to <- prometheus.MustNewConstMetric(desc, kind, value, values...)
}

// running counts what the runtime holds.
func (m samples) running(runtime []*pod.Pod, manages bool) {
	pods, containers := countRunning(runtime)
	if !manages { // the kubelet counts only the states that it finds
		for _, state := range []pod.State{pod.Created, pod.Running, pod.Exited, pod.Unknown} {
			containers[state.String()] += 0
		}
	}
	m.gauge("running_pods", "Number of pods of the runtime with a ready sandbox.", float64(pods))
	for state, n := range containers {
		m.gauge("running_containers", "Number of containers of the runtime, by state.", float64(n), "container_state", state)
	}
}

// boolValue is 1 for true.
func boolValue(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// managed counts the pods that the process manages.
func (m samples) managed(s State, now time.Time) {
	for _, label := range []string{"", "true"} {
		m.gauge("desired_pods", "Number of desired pods; static is true for static pods.", float64(countStatic(s.Desired, label)), "static", label)
		m.gauge("active_pods", "Number of desired pods that have not ended, and count at admission.", float64(countStatic(s.Active, label)), "static", label)
	}
	for w, n := range countWorking(s.Workers) {
		m.gauge("working_pods",
			"Number of pods with a worker, by lifecycle, by whether they are desired, orphaned or known to the runtime only, and whether they are static.",
			float64(n), "lifecycle", w.lifecycle, "config", w.config, "static", w.static)
	}
	m.subsystem = own
	operations, late := overdueOperations(s.Workers, now)
	for op, since := range operations {
		m.gauge("worker_operation_in_flight_seconds", "Age in seconds of the oldest operation of a pod worker, by operation; absent without one.",
			seconds(now, since), "operation_type", op)
	}
	m.gauge("pod_grace_overrun_seconds", "Seconds by which the pod that is most overdue has exceeded its grace period; 0 without one.", late.Seconds())
}

func seconds(now, since time.Time) float64 { return max(0, now.Sub(since).Seconds()) }

func countStatic(pods []*v1.Pod, label string) int {
	n := 0
	for _, p := range pods {
		if staticLabel(p) == label {
			n++
		}
	}
	return n
}

// workingLabels are those of working_pods.
type workingLabels struct{ lifecycle, config, static string }

// countWorking counts as HandlePodCleanups does (pkg/kubelet/kubelet_pods.go): every
// possible combination has a value, even 0.
func countWorking(workers []worker.Info) map[workingLabels]int {
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
			l.config, l.static = "orphan", staticLabel(p)
		default:
			l.static = staticLabel(p)
		}
		counts[l]++
	}
	return counts
}

// countRunning counts pods with a ready sandbox, and containers by state
// (updateRunningPodAndContainerMetrics in pkg/kubelet/pleg/generic.go).
func countRunning(pods []*pod.Pod) (ready int, containers map[string]int) {
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

// overdueOperations returns when the oldest operation of each kind began, and the largest
// overrun of a grace period.
func overdueOperations(workers []worker.Info, now time.Time) (operations map[string]time.Time, late time.Duration) {
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
