package metrics

import (
	"bufio"
	"errors"
	"maps"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/node"
	"github.com/podctl/podctl/internal/node/probe"
	"github.com/podctl/podctl/internal/pleg"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/worker"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// kubelets are the kubelet's metrics that podctl has, with type and labels
// (pkg/kubelet/metrics/metrics.go).
var kubelets = map[string]struct {
	kind   string
	labels string
}{
	"kubelet_desired_pods":                              {"gauge", "static"},
	"kubelet_active_pods":                               {"gauge", "static"},
	"kubelet_working_pods":                              {"gauge", "config lifecycle static"},
	"kubelet_restarted_pods_total":                      {"counter", "static"},
	"kubelet_orphaned_runtime_pods_total":               {"counter", ""},
	"kubelet_pod_worker_duration_seconds":               {"histogram", "operation_type"},
	"kubelet_pod_worker_start_duration_seconds":         {"histogram", ""},
	"kubelet_pod_start_duration_seconds":                {"histogram", ""},
	"kubelet_running_pods":                              {"gauge", ""},
	"kubelet_running_containers":                        {"gauge", "container_state"},
	"kubelet_runtime_operations_total":                  {"counter", "operation_type"},
	"kubelet_runtime_operations_duration_seconds":       {"histogram", "operation_type"},
	"kubelet_runtime_operations_errors_total":           {"counter", "operation_type"},
	"kubelet_started_pods_total":                        {"counter", ""},
	"kubelet_started_pods_errors_total":                 {"counter", ""},
	"kubelet_pleg_relist_duration_seconds":              {"histogram", ""},
	"kubelet_pleg_relist_interval_seconds":              {"histogram", ""},
	"kubelet_pleg_last_seen_seconds":                    {"gauge", ""},
	"kubelet_pleg_pod_relist_duration_seconds":          {"histogram", ""},
	"kubelet_evented_pleg_connection_success_count":     {"counter", ""},
	"kubelet_evented_pleg_connection_error_count":       {"counter", ""},
	"kubelet_evented_pleg_connection_latency_seconds":   {"histogram", ""},
	"kubelet_evictions":                                 {"counter", "eviction_signal"},
	"kubelet_preemptions":                               {"counter", "preemption_signal"},
	"kubelet_admission_rejections_total":                {"counter", "reason"},
	"kubelet_pod_level_resources_admission_total":       {"counter", "config_mode qos_class"},
	"kubelet_pod_deferred_resize_duration_seconds":      {"histogram", "priority_bucket resolution"},
	"prober_probe_total":                                {"counter", "container namespace pod pod_uid probe_type result"},
	"prober_probe_duration_seconds":                     {"histogram", "container namespace pod probe_type"},
	"podctl_pleg_hints_total":                           {"counter", ""},
	"podctl_pleg_needed_hints_total":                    {"counter", ""},
	"podctl_pleg_unhinted_changes_total":                {"counter", ""},
	"podctl_pleg_hints_proved":                          {"gauge", ""},
	"podctl_pleg_healthy":                               {"gauge", ""},
	"podctl_pleg_call_in_flight_seconds":                {"gauge", ""},
	"podctl_runtime_operations_in_flight":               {"gauge", "operation_type"},
	"podctl_orphans":                                    {"gauge", "class"},
	"podctl_orphans_undetermined":                       {"gauge", ""},
	"podctl_terminating_pods":                           {"gauge", ""},
	"podctl_terminating_stuck":                          {"gauge", "layer"},
	"podctl_terminating_oldest_seconds":                 {"gauge", ""},
	"podctl_scan_complete":                              {"gauge", "scan"},
	"podctl_scans_total":                                {"counter", ""},
	"podctl_scan_errors_total":                          {"counter", ""},
	"podctl_last_scan_timestamp_seconds":                {"gauge", ""},
	"podctl_scan_duration_seconds":                      {"gauge", ""},
	"podctl_runtime_operation_in_flight_seconds":        {"gauge", "operation_type"},
	"podctl_worker_operation_in_flight_seconds":         {"gauge", "operation_type"},
	"podctl_pod_grace_overrun_seconds":                  {"gauge", ""},
	"kubelet_started_user_namespaced_pods_total":        {"counter", ""},
	"kubelet_started_user_namespaced_pods_errors_total": {"counter", ""},
}

// scrape reads the values by name with labels, and the types by name.
func scrape(t *testing.T, m *Metrics) (values, kinds map[string]string) {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	if w.Code != 200 {
		t.Fatalf("scrape: %d %s", w.Code, w.Body)
	}
	values, kinds = map[string]string{}, map[string]string{}
	for lines := bufio.NewScanner(w.Body); lines.Scan(); {
		if name, kind, ok := strings.Cut(strings.TrimPrefix(lines.Text(), "# TYPE "), " "); ok && strings.HasPrefix(lines.Text(), "# TYPE ") {
			kinds[name] = kind
		} else if name, value, ok := strings.Cut(lines.Text(), " "); ok && name != "#" {
			values[name] = value
		}
	}
	return values, kinds
}

// busy are metrics of a node on which everything has happened once.
func busy() *Metrics {
	m := New(func() time.Time { return noon })
	p := podOf("web", "")
	starting := worker.State{UID: "web", Phase: worker.Syncing, Running: worker.OpSync}
	m.PhaseChanged(worker.PhaseChange{From: worker.Unknown, To: worker.Syncing, At: noon.Add(-3 * time.Second), State: starting})
	m.OperationStarted(worker.Operation{UID: "web", Op: worker.OpSync, Type: worker.TypeCreate, At: noon.Add(-2 * time.Second)})
	m.OperationDone(worker.Operation{UID: "web", Op: worker.OpSync, Type: worker.TypeCreate, Took: time.Second})
	m.OperationDone(worker.Operation{UID: "web", Op: worker.OpTerminate, Took: time.Second})
	m.OperationDone(worker.Operation{UID: "web", Op: worker.OpCleanup, Took: time.Second})
	m.StatusChanged(p, "", v1.PodPending)
	m.StatusChanged(p, v1.PodPending, v1.PodRunning)
	m.StatusChanged(p, v1.PodRunning, v1.PodFailed)
	m.Restarted(p)
	m.OrphanFound()
	m.StartedUserNamespaced(nil)
	m.StartedUserNamespaced(errors.New("no"))
	m.Evicted("emptydirfs.limit")
	m.Preempted("memory")
	m.Admitted(p)
	m.DeferredResizeEnded(p, node.ResizeAccepted, time.Minute)
	m.Rejected("OutOfcpu")
	m.Rejected("OutOfexample.com/gpu")
	m.Rejected("whatever")
	m.RuntimeOperation("RunPodSandbox", time.Second, nil)
	m.RuntimeOperation("RunPodSandbox", time.Second, errors.New("no"))
	m.RuntimeOperation("NewInSomeCRI", time.Second, nil)
	m.Relisted(5*time.Millisecond, time.Second, nil)
	m.Relisted(5*time.Millisecond, 0, errors.New("no"))
	m.PodRelisted(pleg.FromHint, time.Millisecond, true, nil)
	m.PodRelisted(pleg.FromHint, time.Millisecond, false, nil)
	m.PodRelisted(pleg.FromRequest, time.Millisecond, true, nil)
	m.Hinted(time.Millisecond, false)
	m.Hinted(time.Minute, true)
	m.Probed(p, "c", probe.Liveness, pod.ProbeSuccess, time.Millisecond)
	m.Probed(p, "c", probe.Liveness, pod.ProbeFailure, time.Millisecond)
	m.Probed(p, "gone", probe.Readiness, pod.ProbeSuccess, time.Millisecond)
	m.Stopped(p, "gone", probe.Readiness)
	m.HintStream(nil)
	m.HintStream(errors.New("eof"))
	m.SetStateFunc(func() State {
		return State{
			Desired: []*v1.Pod{p, podOf("dns", "file")}, Active: []*v1.Pod{p},
			Workers: []worker.Info{
				{State: worker.State{UID: "web", Phase: worker.Syncing, Active: worker.Work{Pod: p}}},
				{State: worker.State{UID: "dns", Phase: worker.Finished, Active: worker.Work{Pod: podOf("dns", "file")}}},
				{State: worker.State{UID: "old", Phase: worker.Terminating, Since: noon.Add(-40 * time.Second), Grace: 30, Orphan: true,
					Running: worker.OpTerminate, RunningSince: noon.Add(-39 * time.Second), Active: worker.Work{Pod: podOf("old", "")}}},
				{State: worker.State{UID: "lost", Phase: worker.Terminating, Orphan: true, Active: worker.Work{Runtime: &pod.Pod{}}}},
			},
			Runtime: []*pod.Pod{{
				Sandboxes:  []*pod.Sandbox{{State: pod.Running}, {State: pod.Exited}},
				Containers: []*pod.Container{{State: pod.Running}, {State: pod.Exited}},
			}, {Sandboxes: []*pod.Sandbox{{State: pod.Exited}}}},
			PLEG:     pleg.Health{InFlight: []pleg.Call{{Op: "ListPods", Since: noon.Add(-7 * time.Second)}}, Hints: pleg.HintState{Proved: true}},
			Unhinted: 2, Calls: map[string]cri.Unanswered{"StopContainer": {Number: 2, Since: noon.Add(-8 * time.Second)}},
			Unhealthy: errors.New("late"), Survey: &scanned,
		}
	})
	return m
}

func podOf(name, source string) *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: "web"}}
	if source != "" {
		p.Annotations = map[string]string{"kubernetes.io/config.source": source}
	}
	return p
}

func TestMetricsMatchKubelet(t *testing.T) {
	values, kinds := scrape(t, busy())
	labels := map[string]map[string]bool{}
	for series := range values {
		name, rest, _ := strings.Cut(strings.TrimSuffix(series, "}"), "{")
		for _, suffix := range []string{"_bucket", "_sum", "_count"} {
			if base, ok := strings.CutSuffix(name, suffix); ok && kinds[base] == "histogram" {
				name = base
			}
		}
		if labels[name] == nil {
			labels[name] = map[string]bool{}
		}
		for pair := range strings.SplitSeq(rest, ",") {
			if label, _, ok := strings.Cut(pair, "="); ok && label != "le" {
				labels[name][label] = true
			}
		}
	}
	for name, want := range kubelets {
		got := strings.Join(slices.Sorted(maps.Keys(labels[name])), " ")
		if kinds[name] != want.kind || got != want.labels {
			t.Errorf("%s: %s {%s}, want %s {%s}", name, kinds[name], got, want.kind, want.labels)
		}
	}
	for name := range kinds {
		if _, known := kubelets[name]; !known && (strings.HasPrefix(name, "kubelet_") || strings.HasPrefix(name, "podctl_")) {
			t.Errorf("%s is not in the table", name)
		}
	}
	for _, name := range []string{"go_goroutines", "process_resident_memory_bytes"} {
		if kinds[name] == "" {
			t.Errorf("%s is missing", name)
		}
	}
}

func TestValuesMatchKubelet(t *testing.T) {
	values, _ := scrape(t, busy())
	for series, want := range map[string]string{
		`kubelet_desired_pods{static=""}`:                                                                                      "1",
		`kubelet_desired_pods{static="true"}`:                                                                                  "1",
		`kubelet_active_pods{static=""}`:                                                                                       "1",
		`kubelet_active_pods{static="true"}`:                                                                                   "0",
		`kubelet_working_pods{config="desired",lifecycle="sync",static=""}`:                                                    "1",
		`kubelet_working_pods{config="desired",lifecycle="terminated",static="true"}`:                                          "1",
		`kubelet_working_pods{config="orphan",lifecycle="terminating",static=""}`:                                              "1",
		`kubelet_working_pods{config="runtime_only",lifecycle="terminating",static="unknown"}`:                                 "1",
		`kubelet_working_pods{config="runtime_only",lifecycle="sync",static="unknown"}`:                                        "0",
		`kubelet_restarted_pods_total{static=""}`:                                                                              "1",
		`kubelet_orphaned_runtime_pods_total`:                                                                                  "1",
		`kubelet_running_pods`:                                                                                                 "1",
		`kubelet_running_containers{container_state="running"}`:                                                                "1",
		`kubelet_running_containers{container_state="exited"}`:                                                                 "1",
		`kubelet_pod_worker_duration_seconds_count{operation_type="create"}`:                                                   "1",
		`kubelet_pod_worker_duration_seconds_count{operation_type="kill"}`:                                                     "1",
		`kubelet_pod_worker_duration_seconds_count{operation_type="terminated"}`:                                               "1",
		`kubelet_pod_worker_start_duration_seconds_sum`:                                                                        "1",
		`kubelet_pod_start_duration_seconds_sum`:                                                                               "3",
		`kubelet_pod_start_duration_seconds_count`:                                                                             "1",
		`kubelet_runtime_operations_total{operation_type="run_podsandbox"}`:                                                    "2",
		`kubelet_runtime_operations_errors_total{operation_type="run_podsandbox"}`:                                             "1",
		`kubelet_runtime_operations_total{operation_type="NewInSomeCRI"}`:                                                      "1",
		`kubelet_started_pods_total`:                                                                                           "2",
		`kubelet_started_pods_errors_total`:                                                                                    "1",
		`kubelet_pleg_relist_duration_seconds_count`:                                                                           "2",
		`kubelet_pleg_relist_interval_seconds_count`:                                                                           "1",
		`kubelet_pleg_pod_relist_duration_seconds_count`:                                                                       "3",
		`kubelet_evented_pleg_connection_success_count`:                                                                        "1",
		`kubelet_evented_pleg_connection_error_count`:                                                                          "1",
		`kubelet_evented_pleg_connection_latency_seconds_count`:                                                                "1",
		`kubelet_preemptions{preemption_signal="memory"}`:                                                                      "1",
		`kubelet_admission_rejections_total{reason="OutOfcpu"}`:                                                                "1",
		`kubelet_admission_rejections_total{reason="OutOfExtendedResources"}`:                                                  "1",
		`kubelet_pod_level_resources_admission_total{config_mode="",qos_class="besteffort"}`:                                   "1",
		`kubelet_pod_deferred_resize_duration_seconds_count{priority_bucket="normal",resolution="accepted"}`:                   "1",
		`kubelet_admission_rejections_total{reason="Other"}`:                                                                   "1",
		`prober_probe_total{container="c",namespace="",pod="web",pod_uid="web",probe_type="Liveness",result="failed"}`:         "1",
		`prober_probe_total{container="gone",namespace="",pod="web",pod_uid="web",probe_type="Readiness",result="successful"}`: "",
		`podctl_pleg_hints_total`:                                                                                              "2",
		`podctl_pleg_needed_hints_total`:                                                                                       "1",
		`podctl_pleg_unhinted_changes_total`:                                                                                   "2",
		`podctl_pleg_hints_proved`:                                                                                             "1",
		`podctl_pleg_call_in_flight_seconds`:                                                                                   "7",
		`podctl_runtime_operation_in_flight_seconds{operation_type="stop_container"}`:                                          "8",
		`podctl_worker_operation_in_flight_seconds{operation_type="terminate"}`:                                                "39",
		`kubelet_started_user_namespaced_pods_total`:                                                                           "2",
		`kubelet_started_user_namespaced_pods_errors_total`:                                                                    "1",
		`podctl_pod_grace_overrun_seconds`:                                                                                     "10",
	} {
		if values[series] != want {
			t.Errorf("%s = %q, want %s", series, values[series], want)
		}
	}
	buckets := func(name string) int {
		n := 0
		for series := range values {
			if strings.HasPrefix(series, name+"_bucket{") {
				n++
			}
		}
		return n
	}
	if n := buckets("kubelet_pod_start_duration_seconds"); n != 26 {
		t.Errorf("pod_start_duration_seconds has %d buckets, the kubelet 26", n)
	}
	if values[`kubelet_runtime_operations_duration_seconds_bucket{operation_type="run_podsandbox",le="0.005"}`] != "0" ||
		values[`kubelet_runtime_operations_duration_seconds_bucket{operation_type="run_podsandbox",le="1.220703125"}`] != "2" {
		t.Error("runtime_operations_duration_seconds has other buckets than the kubelet's")
	}
}

// A pod that is adopted was running before podctl came: it says nothing about
// how long pods take to start.
func TestAdoptedPodsAreNotCountedAsStarted(t *testing.T) {
	m := New(func() time.Time { return noon })
	m.PhaseChanged(worker.PhaseChange{From: worker.Unknown, To: worker.Syncing, At: noon,
		State: worker.State{UID: "web", Phase: worker.Syncing, Started: true}})
	m.StatusChanged(podOf("web", ""), "", v1.PodRunning)
	if values, _ := scrape(t, m); values["kubelet_pod_start_duration_seconds_count"] != "0" {
		t.Errorf("counted %s starts", values["kubelet_pod_start_duration_seconds_count"])
	}
}

// The kubelet beside an observer exports the same facts under its names.
func TestObserverExportsNoKubeletNames(t *testing.T) {
	m := NewObserver(func() time.Time { return noon })
	m.RuntimeOperation("Version", time.Second, nil)
	m.Relisted(time.Second, time.Second, nil)
	m.PodRelisted(pleg.FromHint, time.Second, true, nil)
	m.Hinted(time.Second, false)
	m.HintStream(nil)
	m.SetStateFunc(func() State { return State{Runtime: []*pod.Pod{{Sandboxes: []*pod.Sandbox{{State: pod.Running}}}}} })
	values, kinds := scrape(t, m)
	for name := range kinds {
		if !strings.HasPrefix(name, "podctl_") && !strings.HasPrefix(name, "go_") && !strings.HasPrefix(name, "process_") && !strings.HasPrefix(name, "promhttp_") {
			t.Errorf("an observer exports %s", name)
		}
		if strings.Contains(name, "desired") || strings.Contains(name, "working") {
			t.Errorf("an observer manages no pods, but exports %s", name)
		}
	}
	for series, want := range map[string]string{"podctl_running_pods": "1", "podctl_pleg_relist_duration_seconds_count": "1", `podctl_runtime_operations_total{operation_type="version"}`: "1"} {
		if values[series] != want {
			t.Errorf("%s = %q, want %s", series, values[series], want)
		}
	}
}

func TestPriorityBuckets(t *testing.T) {
	for priority, want := range map[int32]string{
		2_000_000_000: "system-critical", 1_999_999_999: "high", 100_000: "high", 99_999: "medium", 1: "medium",
		0: "normal", -1: "low", -999: "low", -1000: "very-low",
	} {
		if got := priorityBucket(&v1.Pod{Spec: v1.PodSpec{Priority: &priority}}); got != want {
			t.Errorf("%d: %s, want %s", priority, got, want)
		}
	}
}

func TestConfigModeOfResources(t *testing.T) {
	some := v1.ResourceRequirements{Requests: v1.ResourceList{v1.ResourceCPU: resource.MustParse("1")}}
	for want, spec := range map[string]v1.PodSpec{
		"":                        {Containers: []v1.Container{{}}},
		"pod_level":               {Resources: &some, Containers: []v1.Container{{}}},
		"container_level":         {InitContainers: []v1.Container{{Resources: some}}},
		"pod_and_container_level": {Resources: &some, Containers: []v1.Container{{Resources: some}}},
	} {
		if got := configMode(&v1.Pod{Spec: spec}); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
