package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/pleg"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/serve/survey"
	"github.com/podctl/podctl/internal/sys/flock"
	"github.com/podctl/podctl/internal/worker"
)

// State is the source of the gauges.
type State struct {
	// Desired are the pods that sources want, Active those of them that have
	// not ended.
	Desired, Active []*v1.Pod
	// Statuses are those of the desired pods.
	Statuses []PodStatus
	Workers  []worker.Info
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
	// Locks are the waits for locks that other processes may hold.
	Locks flock.Waits
	// Connecting: the runtime has not answered since the process started. What it holds
	// is not known, and has no series.
	Connecting bool
}

// PodStatus is a pod with its status.
type PodStatus struct {
	Pod    *v1.Pod
	Status v1.PodStatus
}

func prometheusGauge(m *Metrics, subsystem, name, help string) prometheus.Gauge {
	g := prometheus.NewGauge(prometheus.GaugeOpts{Subsystem: subsystem, Name: name, Help: help})
	m.registry.MustRegister(g)
	return g
}

func desc(subsystem, name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(prometheus.BuildFQName("", subsystem, name), help, labels, nil)
}

// stateDescs describe the gauges that are counted at each scrape.
type stateDescs struct {
	desiredPods, activePods, mirrorPods, workingPods, runningPods, runningContainers *prometheus.Desc
	plegHealthy, plegInFlight, plegUnhinted, plegProved                              *prometheus.Desc
	callsInFlight, callInFlight, workInFlight, overrun                               *prometheus.Desc
	pendingResizes, resizesInProgress                                                *prometheus.Desc
	lockInFlight, lockWaits, lockGivenUp                                             *prometheus.Desc
}

func newStateDescs(subsystem string) stateDescs {
	return stateDescs{
		desiredPods: desc(subsystem, "desired_pods", "Number of desired pods; static is true for static pods.", "static"),
		activePods:  desc(subsystem, "active_pods", "Number of desired pods that have not ended, and count at admission.", "static"),
		mirrorPods:  desc(subsystem, "mirror_pods", "Number of mirror pods: 0, without an API server."),
		workingPods: desc(subsystem, "working_pods",
			"Number of pods with a worker, by lifecycle, by whether they are desired, orphaned or known to the runtime only, and whether they are static.",
			"lifecycle", "config", "static"),
		pendingResizes: desc(subsystem, "pod_pending_resizes",
			"Number of resizes that wait, by why (deferred) and the priority of the pod.", "reason", "priority_bucket"),
		resizesInProgress: desc(subsystem, "pod_in_progress_resizes", "Number of pods that are being resized."),
		runningPods:       desc(subsystem, "running_pods", "Number of pods of the runtime with a ready sandbox."),
		runningContainers: desc(subsystem, "running_containers", "Number of containers of the runtime, by state.", "container_state"),

		plegHealthy: desc(own, "pleg_healthy", "1 if the last relist and every call of the PLEG are younger than its threshold of 3 minutes, else 0."),
		plegInFlight: desc(own, "pleg_call_in_flight_seconds",
			"Age in seconds of the oldest call of the PLEG without an answer, from the first try of a call that is retried; 0 without one."),
		plegUnhinted: desc(own, "pleg_unhinted_changes_total", "Number of changes without an event of the runtime while its stream was open."),
		plegProved:   desc(own, "pleg_hints_proved", "1 while the runtime's events extend the period of full relists."),
		callInFlight: desc(own, "runtime_operation_in_flight_seconds",
			"Age in seconds of the oldest runtime call without an answer, from the first try of a call that is retried, by operation; 0 without one.", "operation_type"),
		callsInFlight: desc(own, "runtime_operations_in_flight",
			"Number of runtime calls without an answer, by operation. A call that is retried counts from its deadline to the answer.", "operation_type"),
		workInFlight: desc(own, "worker_operation_in_flight_seconds",
			"Age in seconds of the oldest operation of a pod worker, by operation; absent without one.", "operation_type"),
		lockInFlight: desc(own, "lock_wait_in_flight_seconds",
			"Age in seconds of the oldest wait for a lock of cgroups, user id ranges, host ports or claims; 0 without one."),
		lockWaits:   desc(own, "lock_waits_total", "Number of waits for a lock."),
		lockGivenUp: desc(own, "lock_waits_given_up_total", "Number of waits that ended without the lock: the operation is retried."),
		overrun: desc(own, "pod_grace_overrun_seconds",
			"Seconds by which the pod that is most overdue has exceeded its grace period; 0 without one."),
	}
}

// all returns the descriptions; those of managed pods only for a process that
// manages pods.
func (d stateDescs) all(manages bool) []*prometheus.Desc {
	descs := []*prometheus.Desc{
		d.runningPods, d.runningContainers, d.plegHealthy, d.plegInFlight, d.plegUnhinted, d.plegProved, d.callsInFlight, d.callInFlight,
	}
	if manages {
		descs = append(descs, d.desiredPods, d.activePods, d.mirrorPods, d.workingPods, d.pendingResizes, d.resizesInProgress, d.workInFlight, d.overrun, d.lockInFlight, d.lockWaits, d.lockGivenUp)
	}
	return descs
}

// stateCollector computes the gauges at each scrape.
type stateCollector struct {
	m     *Metrics
	descs stateDescs
	// survey describes what scans find.
	survey surveyDescs
	// manages: the process manages pods.
	manages bool
}

// Describe implements prometheus.Collector.
func (c *stateCollector) Describe(to chan<- *prometheus.Desc) {
	for _, d := range append(c.descs.all(c.manages), c.survey.all()...) {
		to <- d
	}
}

// Collect implements prometheus.Collector. Without a state it sends nothing.
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
	if c.manages {
		c.collectManaged(s, now, gauge)
		waited := 0.0
		if !s.Locks.Oldest.IsZero() {
			waited = seconds(now, s.Locks.Oldest)
		}
		gauge(c.descs.lockInFlight, waited)
		to <- prometheus.MustNewConstMetric(c.descs.lockWaits, prometheus.CounterValue, float64(s.Locks.Begun))
		to <- prometheus.MustNewConstMetric(c.descs.lockGivenUp, prometheus.CounterValue, float64(s.Locks.GivenUp))
	}
	if !s.Connecting {
		c.collectRunning(s.Runtime, gauge)
	}
	c.collectPLEG(s, now, gauge)
	c.survey.collect(s.Survey, now, to)
	to <- prometheus.MustNewConstMetric(c.descs.plegUnhinted, prometheus.CounterValue, float64(s.Unhinted))
	for operation, calls := range c.m.inFlight(s.Calls) {
		age := 0.0
		if calls.Number > 0 {
			age = seconds(now, calls.Since)
		}
		gauge(c.descs.callsInFlight, float64(calls.Number), operation)
		gauge(c.descs.callInFlight, age, operation)
	}
}

// collectRunning counts what the runtime holds.
func (c *stateCollector) collectRunning(runtime []*pod.Pod, gauge func(d *prometheus.Desc, value float64, labels ...string)) {
	pods, containers := countRunning(runtime)
	if !c.manages { // the kubelet counts only the states that it finds
		for _, state := range []pod.State{pod.Created, pod.Running, pod.Exited, pod.Unknown} {
			containers[state.String()] += 0
		}
	}
	gauge(c.descs.runningPods, float64(pods))
	for state, n := range containers {
		gauge(c.descs.runningContainers, float64(n), state)
	}
}

// collectPLEG counts what the PLEG is doing.
func (c *stateCollector) collectPLEG(s State, now time.Time, gauge func(d *prometheus.Desc, value float64, labels ...string)) {
	age := 0.0
	if len(s.PLEG.InFlight) > 0 {
		age = seconds(now, s.PLEG.InFlight[0].Since)
	}
	gauge(c.descs.plegInFlight, age)
	gauge(c.descs.plegHealthy, boolValue(s.Unhealthy == nil))
	gauge(c.descs.plegProved, boolValue(s.PLEG.Hints.Proved))
}

// boolValue is 1 for true.
func boolValue(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// collectManaged counts the pods that the process manages.
func (c *stateCollector) collectManaged(s State, now time.Time, gauge func(d *prometheus.Desc, value float64, labels ...string)) {
	for _, label := range []string{"", "true"} {
		gauge(c.descs.desiredPods, float64(countStatic(s.Desired, label)), label)
		gauge(c.descs.activePods, float64(countStatic(s.Active, label)), label)
	}
	gauge(c.descs.mirrorPods, 0)
	for w, n := range countWorking(s.Workers) {
		gauge(c.descs.workingPods, float64(n), w.lifecycle, w.config, w.static)
	}
	pending, inProgress := countResizes(s.Statuses)
	for l, n := range pending {
		gauge(c.descs.pendingResizes, float64(n), l.reason, l.priority)
	}
	gauge(c.descs.resizesInProgress, float64(inProgress))
	operations, late := overdueOperations(s.Workers, now)
	for op, since := range operations {
		gauge(c.descs.workInFlight, seconds(now, since), op)
	}
	gauge(c.descs.overrun, late.Seconds())
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
