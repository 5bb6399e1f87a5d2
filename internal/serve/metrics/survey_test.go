package metrics

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/pleg"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/orphan"
	"github.com/podctl/podctl/internal/pods/why"
	"github.com/podctl/podctl/internal/serve/survey"
)

// scannedClasses are those that a scan looks for.
var scannedClasses = slices.DeleteFunc(orphan.Classes(), func(c orphan.Class) bool { return c == orphan.Leaked })

// scanned is a scan that found an orphan and a stuck pod.
var scanned = survey.State{
	Report: survey.Report{
		Orphans:     survey.Orphans{ByClass: counts(scannedClasses, orphan.Abandoned)},
		Terminating: survey.Terminating{Pods: 2, Since: noon.Add(-90 * time.Second), Stuck: counts(why.StuckLayers(), why.LayerShim)},
	},
	Scans: 3, Failed: 1, LastEnd: noon.Add(-5 * time.Second), Took: 20 * time.Millisecond,
}

// counts has one of a kind and none of the others.
func counts[T comparable](all []T, one T) map[T]int {
	by := map[T]int{}
	for _, kind := range all {
		by[kind] = 0
	}
	by[one] = 1
	return by
}

// observe returns the values of an observer with a state.
func observe(t *testing.T, s State) map[string]string {
	t.Helper()
	m := NewObserver(func() time.Time { return noon })
	m.SetStateFunc(func() State { return s })
	values, _ := scrape(t, m)
	return values
}

func expect(t *testing.T, values, want map[string]string) {
	t.Helper()
	for series, value := range want {
		if got, there := values[series]; got != value || there != (value != "") {
			t.Errorf("%s is %q, want %q", series, got, value)
		}
	}
}

func TestScanByClassAndLayer(t *testing.T) {
	expect(t, observe(t, State{Survey: &scanned}), map[string]string{
		`podctl_orphans{class="abandoned"}`:         "1",
		`podctl_orphans{class="directory"}`:         "0",
		`podctl_orphans_undetermined`:               "0",
		`podctl_terminating_pods`:                   "2",
		`podctl_terminating_stuck{layer="shim"}`:    "1",
		`podctl_terminating_stuck{layer="network"}`: "0",
		`podctl_terminating_stuck{layer="lock"}`:    "0",
		`podctl_terminating_oldest_seconds`:         "90",
		`podctl_scan_complete{scan="orphans"}`:      "1",
		`podctl_scan_complete{scan="terminating"}`:  "1",
		`podctl_scans_total`:                        "3",
		`podctl_scan_errors_total`:                  "1",
		`podctl_last_scan_timestamp_seconds`:        "1.767355195e+09",
		`podctl_scan_duration_seconds`:              "0.02",
		`podctl_orphans{class="-"}`:                 "",
		`podctl_terminating_stuck{layer="-"}`:       "",
	})
}

func TestUnknownIsNotZero(t *testing.T) {
	silent := errors.New("the kubelet does not answer")
	partial := survey.State{Report: survey.Report{
		Orphans:     survey.Orphans{ByClass: map[orphan.Class]int{orphan.Abandoned: 1}, Undetermined: 7, Unknown: silent},
		Terminating: survey.Terminating{Unknown: silent},
	}}
	expect(t, observe(t, State{Survey: &partial}), map[string]string{
		`podctl_orphans{class="abandoned"}`:        "1", // it is one, whatever the kubelet would say
		`podctl_orphans{class="runtime-only"}`:     "",
		`podctl_orphans_undetermined`:              "7",
		`podctl_terminating_pods`:                  "",
		`podctl_terminating_stuck{layer="shim"}`:   "",
		`podctl_terminating_oldest_seconds`:        "",
		`podctl_scan_complete{scan="orphans"}`:     "0",
		`podctl_scan_complete{scan="terminating"}`: "0",
		`podctl_last_scan_timestamp_seconds`:       "0",
	})
}

func TestPLEGAndCallsInFlightAreCounted(t *testing.T) {
	expect(t, observe(t, State{
		Calls: map[string]cri.Unanswered{
			"ListContainers": {Number: 2, Since: noon.Add(-time.Minute)}, "ImageFsInfo": {Number: 1, Since: noon.Add(-time.Second)},
		},
		PLEG: pleg.Health{InFlight: []pleg.Call{{Since: noon.Add(-time.Minute)}}}, Unhealthy: errors.New("late"), Unhinted: 4,
	}), map[string]string{
		`podctl_pleg_healthy`:                                                          "0",
		`podctl_pleg_call_in_flight_seconds`:                                           "60",
		`podctl_pleg_unhinted_changes_total`:                                           "4",
		`podctl_runtime_operations_in_flight{operation_type="list_containers"}`:        "2",
		`podctl_runtime_operation_in_flight_seconds{operation_type="list_containers"}`: "60",
		`podctl_runtime_operations_in_flight{operation_type="other"}`:                  "1",
		`podctl_runtime_operations_in_flight{operation_type="list_podsandbox"}`:        "0",
		`podctl_runtime_operation_in_flight_seconds{operation_type="version"}`:         "0",
	})
}

// TestObserverSeriesAreFixed pins what an observer costs a Prometheus: the
// set of series depends neither on the number of pods, nor on what is wrong.
func TestObserverSeriesAreFixed(t *testing.T) {
	idle := observe(t, State{Survey: &scanned})
	m := NewObserver(func() time.Time { return noon })
	for _, method := range []string{"Version", "ListPodSandbox", "StopPodSandbox", "NewInSomeCRI", "GetContainerEvents"} {
		m.RuntimeOperation(method, time.Second, errors.New("no"))
	}
	m.Relisted(time.Second, time.Second, nil)
	m.Hinted(time.Second, false)
	m.HintStream(nil)
	many := scanned
	many.Report.Terminating.Stuck = counts(why.StuckLayers(), why.LayerHook)
	m.SetStateFunc(func() State {
		s := State{
			Survey: &many, Calls: map[string]cri.Unanswered{"Exec": {Number: 9, Since: noon}, "Status": {Number: 1, Since: noon}},
			PLEG: pleg.Health{InFlight: []pleg.Call{{Since: noon}}, Hints: pleg.HintState{Proved: true}},
		}
		for range 500 {
			s.Runtime = append(s.Runtime, &pod.Pod{Containers: []*pod.Container{{State: pod.Created}, {State: pod.Exited}, {State: pod.Unknown}}})
		}
		return s
	})
	busy, _ := scrape(t, m)
	process := func(series string, _ string) bool { return !strings.HasPrefix(series, "podctl_") }
	maps.DeleteFunc(idle, process)
	maps.DeleteFunc(busy, process)
	if a, b := slices.Sorted(maps.Keys(idle)), slices.Sorted(maps.Keys(busy)); !slices.Equal(a, b) {
		for _, series := range append(slices.Clone(a), b...) {
			if slices.Contains(a, series) != slices.Contains(b, series) {
				t.Errorf("%s is not always there", series)
			}
		}
	}
	if len(idle) != observerSeries {
		t.Errorf("%d series, docs/fleet.md says %d", len(idle), observerSeries)
	}
}

// observerSeries is the number of podctl_* series of an observer.
const observerSeries = 263

// TestObserverAvoidsKubeletNames: a rule that selects kubelet_* must never
// select what podctl says.
func TestObserverAvoidsKubeletNames(t *testing.T) {
	for series := range observe(t, State{Survey: &scanned}) {
		if !strings.HasPrefix(series, "podctl_") && !strings.HasPrefix(series, "go_") && !strings.HasPrefix(series, "process_") && !strings.HasPrefix(series, "promhttp_") {
			t.Errorf("an observer exports %s", series)
		}
	}
}
