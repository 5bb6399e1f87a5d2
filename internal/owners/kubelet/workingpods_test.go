package kubelet

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// The kubelet v1.36.3 has all series of the metric from its first housekeeping on.
const workingMetrics = `# HELP kubelet_working_pods [ALPHA] Number of pods the kubelet is actually running
# TYPE kubelet_working_pods gauge
kubelet_working_pods{config="desired",lifecycle="sync",static=""} 0
kubelet_working_pods{config="desired",lifecycle="sync",static="true"} 9
kubelet_working_pods{config="orphan",lifecycle="sync",static=""} 0
kubelet_working_pods{config="orphan",lifecycle="terminated",static="true"} 2
kubelet_working_pods{config="orphan",lifecycle="terminating",static="true"} 1
kubelet_working_pods{config="runtime_only",lifecycle="terminating",static="unknown"} 3
`

const otherMetrics = "# TYPE kubelet_working_pods gauge\nkubelet_working_pods_total 7\nkubelet_desired_pods{static=\"true\"} 9\nprocess_open_fds 30\n"

// Metrics that cannot be read say nothing: neither that the kubelet's housekeeping
// has run nor that it terminates no pod.
func TestWorkingPods(t *testing.T) {
	for _, c := range []struct {
		name, metrics string
		want          workingPods
	}{
		{"after its housekeeping", otherMetrics + workingMetrics, workingPods{HousekeepingRan: true, TerminatingUnlisted: 6}},
		{"it desires all", `kubelet_working_pods{config="desired",lifecycle="sync",static="true"} 9` + "\n", workingPods{HousekeepingRan: true}},
		{"before its housekeeping", otherMetrics, workingPods{}},
		{"no metrics", "", workingPods{}},
		{"not a metric", "kubelet_working_pods{config=\"orphan\"", workingPods{}},
		{"a line without an end", otherMetrics + strings.Repeat("x", 1<<20), workingPods{}},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != "/metrics" {
				t.Errorf("%s is asked for", r.URL.Path)
			}
			fmt.Fprint(w, c.metrics)
		}))
		if got := (Options{URL: server.URL}).workingPods(t.Context()); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
		server.Close()
		if got := (Options{URL: server.URL}).workingPods(t.Context()); got != (workingPods{}) {
			t.Errorf("%s: a kubelet that does not answer: %+v", c.name, got)
		}
	}
	forbidden := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, workingMetrics)
	}))
	defer forbidden.Close()
	if got := (Options{URL: forbidden.URL}).workingPods(t.Context()); got != (workingPods{}) {
		t.Errorf("forbidden: %+v", got)
	}
}
