package e2e

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/podctl/podctl/test/live"
	"github.com/podctl/podctl/testkit/testutil"
)

// The series of pods, workers and the PLEG have the values of a kubelet's for the same
// static pods: while they start, restart, terminate, are replaced, are created again
// under their UID, and are orphaned. A pod is left running until the end: where no
// container runs, the kubelet's number of running containers keeps its last value. No
// other test runs beside this one.
func TestMetricsMatchKubelet(t *testing.T) {
	m := &metered{t: t, seen: map[string]map[string]bool{}, kubelet: live.StartKubelet(t), agentPlace: withAgent(t, live.Runtime(t, live.Containerd, live.Private()))}
	m.process = m.agent()
	m.put("web", pod("web", server, brief))
	m.put("slow", pod("slow", ignores, "terminationGracePeriodSeconds: 15"))
	m.put("job", pod("job", "exit 0", "restartPolicy: Never"))
	m.put("crash", pod("crash", "exit 1", "restartPolicy: OnFailure"))
	m.agrees("they start", map[string]float64{
		`kubelet_desired_pods{static="true"}`: 4, `kubelet_active_pods{static="true"}`: 3, `kubelet_running_pods`: 3,
		`kubelet_running_containers{container_state="running"}`: 2, `kubelet_pod_worker_start_duration_seconds_count`: 4,
		`kubelet_pod_worker_duration_seconds_count{operation_type="create"}`: 4,
	})
	m.put("web", pod("web", server+" # changed", brief))
	m.agrees("one is replaced", map[string]float64{`kubelet_started_pods_total`: 5})
	m.remove("slow")
	m.agrees("one terminates", map[string]float64{`kubelet_working_pods{config="orphan",lifecycle="terminating",static="true"}`: 1})
	m.put("slow", pod("slow", ignores, "terminationGracePeriodSeconds: 15"))
	m.agrees("it is created again under its UID", map[string]float64{`kubelet_restarted_pods_total{static="true"}`: 1, `kubelet_running_pods`: 3})
	m.remove("crash")
	m.agrees("one that restarts is removed", map[string]float64{`kubelet_desired_pods{static="true"}`: 3, `kubelet_running_pods`: 2})
	m.starts(func() { m.remove("slow") })
	m.agrees("one is orphaned", map[string]float64{`kubelet_orphaned_runtime_pods_total`: 1, `kubelet_running_pods`: 1})
	m.hasAll()
	m.remove("web")
	m.remove("job")
	m.holds()
	m.process.ends(syscall.SIGTERM, 0)
}

// ignores is a program that ends only when it is killed.
const ignores = `trap "" TERM; ` + forever

// metered is a kubelet and an agent that are given the same static pods.
type metered struct {
	t       *testing.T
	kubelet *live.Kubelet
	process *process
	// seen are the families that each has exported.
	seen map[string]map[string]bool
	*agentPlace
}

func (m *metered) put(name, yaml string) {
	m.t.Helper()
	m.kubelet.WriteStatic(m.t, name+".yaml", yaml)
	m.agentPlace.put(name+".yaml", strings.Replace(yaml, "metadata: {", "metadata: {annotations: {kubernetes.io/config.source: file}, ", 1))
}

func (m *metered) remove(name string) {
	m.t.Helper()
	m.kubelet.RemoveStatic(m.t, name+".yaml")
	m.agentPlace.remove(name + ".yaml")
}

// starts kills both, and starts them again after something has changed.
func (m *metered) starts(meanwhile func()) {
	m.t.Helper()
	m.kubelet.Kill(m.t)
	m.process.signal(syscall.SIGKILL)
	m.process.wait()
	meanwhile()
	m.kubelet.Start(m.t)
	m.process = m.agent()
}

// agrees waits until both have these values, and equal ones of every series that is
// compared.
func (m *metered) agrees(when string, want map[string]float64) {
	m.t.Helper()
	var differ []string
	ok := testutil.Poll(timeout, func() bool {
		theirs, ours := m.scrape("kubelet", m.kubelet.Get(m.t, "/metrics")), m.scrape("podctl", m.metrics())
		differ = nil
		names := slices.AppendSeq(slices.Collect(maps.Keys(ours)), maps.Keys(theirs))
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			if isCompared(name) && theirs[name] != ours[name] {
				differ = append(differ, fmt.Sprintf("%s: kubelet %v, podctl %v", name, theirs[name], ours[name]))
			}
		}
		for _, name := range slices.Sorted(maps.Keys(want)) {
			if theirs[name] != want[name] || ours[name] != want[name] {
				differ = append(differ, fmt.Sprintf("%s: kubelet %v, podctl %v, want %v", name, theirs[name], ours[name], want[name]))
			}
		}
		return len(differ) == 0
	})
	if !ok {
		m.t.Errorf("the series do not agree when %s:\n%s", when, strings.Join(differ, "\n"))
	}
}

func (m *metered) metrics() string {
	m.t.Helper()
	text, err := m.control().Get(m.t.Context(), "/metrics")
	if err != nil {
		m.t.Fatal(err)
	}
	return string(text)
}

// scrape returns the values of all series, of histograms the counts, and remembers
// which families there are.
func (m *metered) scrape(of, text string) map[string]float64 {
	values := map[string]float64{}
	for line := range strings.Lines(text) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), " ")
		if _, known := families[family(name)]; !ok || !known {
			continue
		}
		if m.seen[of] == nil {
			m.seen[of] = map[string]bool{}
		}
		m.seen[of][family(name)] = true
		v, err := strconv.ParseFloat(value, 64)
		if err != nil {
			m.t.Fatalf("%s: %v", line, err)
		}
		values[name] = v
	}
	return values
}

// family returns the metric of a series: "kubelet_x" of "kubelet_x_count{…}".
func family(series string) string {
	name, _, _ := strings.Cut(series, "{")
	if _, ok := families[name]; ok {
		return name
	}
	return strings.TrimSuffix(name, "_count")
}

func isCompared(series string) bool {
	compared := families[family(series)]
	return compared == all || compared != "" && strings.Contains(series, compared)
}

// hasAll asserts that every family was exported by both, but for those that the
// kubelet has only with the feature gate EventedPLEG.
func (m *metered) hasAll() {
	m.t.Helper()
	for family := range families {
		if !m.seen["podctl"][family] {
			m.t.Errorf("podctl does not export %s", family)
		}
		if !m.seen["kubelet"][family] && !strings.HasPrefix(family, "kubelet_evented_pleg_") {
			m.t.Errorf("the kubelet does not export %s", family)
		}
	}
}

// all: every series of the family is compared.
const all = "kubelet_"

// families are the metrics of pods, workers and the PLEG, with the series that are
// compared: all, those that contain a text, or none. The page of the differences from
// the kubelet says how the others differ.
var families = map[string]string{
	"kubelet_desired_pods":                              all,
	"kubelet_active_pods":                               all,
	"kubelet_working_pods":                              all,
	"kubelet_restarted_pods_total":                      all,
	"kubelet_orphaned_runtime_pods_total":               all,
	"kubelet_pod_worker_start_duration_seconds":         "", // the kubelet may not count a pod that waits for its name
	"kubelet_pod_worker_duration_seconds":               "", // as above; it leaves out terminations, and when pods are synced depends on time
	"kubelet_pod_start_duration_seconds":                "", // the kubelet observes a pod twice
	"kubelet_running_pods":                              all,
	"kubelet_running_containers":                        `"running"`, // podctl removes what is dead at once, the kubelet later
	"kubelet_started_pods_total":                        all,
	"kubelet_started_pods_errors_total":                 all,
	"kubelet_started_user_namespaced_pods_total":        all,
	"kubelet_started_user_namespaced_pods_errors_total": all,
	"kubelet_pleg_relist_duration_seconds":              "", // depends on time, as the following
	"kubelet_pleg_relist_interval_seconds":              "",
	"kubelet_pleg_pod_relist_duration_seconds":          "",
	"kubelet_pleg_last_seen_seconds":                    "",
	"kubelet_evented_pleg_connection_success_count":     "",
	"kubelet_evented_pleg_connection_error_count":       "",
	"kubelet_evented_pleg_connection_latency_seconds":   "",
}
