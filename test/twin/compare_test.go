package twin

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
)

// a pod that was removed after a container with a hook had been restarted once.
func side(began time.Time) *Side {
	at := func(seconds float64) time.Time { return began.Add(time.Duration(seconds * float64(time.Second))) }
	step := func(method string, seconds float64) Step {
		return Step{Method: method, At: at(seconds), End: at(seconds + 0.001), Code: "OK", Request: map[string]any{"config": map[string]any{"tty": true, "command": []any{"run"}}}}
	}
	first := &Attempt{Steps: []Step{step("CreateContainer", 1.1), step("StartContainer", 1.2), step("ExecSync", 1.3)}, Exit: Exit{At: at(10), Code: 1}}
	second := &Attempt{Steps: []Step{step("CreateContainer", 10.1), step("StartContainer", 10.2), step("ExecSync", 10.3), step("ExecSync", 40), step("StopContainer", 41)}, Exit: Exit{At: at(43), Code: 137}}
	return &Side{
		Began: began, Ended: at(60),
		Life: &Life{Pod: "p", Sandboxes: []*Attempt{{
			Steps:      []Step{step("RunPodSandbox", 1), step("StopPodSandbox", 43.1)},
			Containers: map[string][]*Attempt{"c": {first, second}},
		}}},
		Statuses: slices.Repeat([]Sample{{Status: v1.PodStatus{Phase: v1.PodRunning}}}, 10),
		Events:   []Event{{Pod: "p", Container: "c", Reason: "Started"}, {Pod: "p", Container: "c", Reason: "Started"}, {Pod: "p", Container: "c", Reason: "Killing"}},
	}
}

func TestDeliberateChangesAreFound(t *testing.T) {
	container := func(s *Side) []*Attempt { return s.Life.Sandboxes[0].Containers["c"] }
	for name, tc := range map[string]struct {
		change func(s *Side)
		want   string // "" for no difference
	}{
		"none":              {func(*Side) {}, ""},
		"a hook is skipped": {func(s *Side) { container(s)[0].Steps = container(s)[0].Steps[:2] }, "attempt 0: calls"},
		"a field is dropped": {func(s *Side) {
			container(s)[0].Steps[0].Request = map[string]any{"config": map[string]any{"command": []any{"run"}}}
		}, "CreateContainer .config.tty"},
		"a step is late":      {func(s *Side) { s.Life.Sandboxes[0].Steps[1].At = s.Began.Add(48 * time.Second) }, "StopPodSandbox after exit"},
		"a restart too many":  {func(s *Side) { s.Life.Sandboxes[0].Containers["c"] = append(container(s)[:1], container(s)...) }, "attempt"},
		"a restart less":      {func(s *Side) { s.Life.Sandboxes[0].Containers["c"] = container(s)[:1] }, "attempt 1"},
		"another exit":        {func(s *Side) { container(s)[0].Exit.Code = 0 }, "exit"},
		"an event is missing": {func(s *Side) { s.Events = s.Events[1:] }, "events Started"},
		"another phase":       {func(s *Side) { s.Statuses = slices.Repeat([]Sample{{Status: v1.PodStatus{Phase: v1.PodPending}}}, 10) }, "status of the pod"},
	} {
		t.Run(name, func(t *testing.T) {
			began := time.Unix(1000, 0)
			changed := side(began)
			tc.change(changed)
			var c Comparison
			c.Add(Planned{Name: "p", Acts: []Act{{At: time.Second / 2, Manifest: "kind: Pod"}, {At: 39 * time.Second}}}, 0, side(began), changed)
			found := slices.ContainsFunc(c.Differences, func(d Difference) bool { return d.Row == "" && tc.want != "" && strings.Contains(d.What, tc.want) })
			if found != (tc.want != "") || tc.want == "" && len(c.Differences) > 0 {
				t.Errorf("differences %v, want one of %q", c.Differences, tc.want)
			}
		})
	}
}

// The kubelet makes the next pod of a name seconds later than podctl: what it had no time for before the
// end is no difference, what it had time for is one.
func TestSandboxForWhichThereWasNoTime(t *testing.T) {
	began := time.Unix(1000, 0)
	for seconds, want := range map[int]int{55: 0, 44: 1} {
		one, two := side(began), side(began)
		at := began.Add(time.Duration(seconds) * time.Second)
		run := func(methods ...string) *Attempt {
			a := &Attempt{}
			for _, m := range methods {
				a.Steps = append(a.Steps, Step{Method: m, At: at, End: at, Code: "OK"})
			}
			return a
		}
		next := run("RunPodSandbox")
		next.Containers = map[string][]*Attempt{"c": {run("CreateContainer", "StartContainer")}}
		two.Life.Sandboxes = append(two.Life.Sandboxes, next)
		two.Events = append(two.Events, Event{Pod: "p", Container: "c", Reason: "Started"})
		var c Comparison
		c.Add(Planned{Name: "p", Acts: []Act{{At: time.Second / 2, Manifest: "kind: Pod"}, {At: 39 * time.Second}}}, 0, one, two)
		found := slices.DeleteFunc(c.Differences, func(d Difference) bool { return !strings.HasPrefix(d.What, "sandbox 1") })
		if len(found) != want || want == 0 && len(c.Differences) > 0 {
			t.Errorf("made %d s before the end: %v", 60-seconds, c.Differences)
		}
	}
}

// Numbers of runs are compared again in a sandbox in which the container runs for the first time: of the one
// before, one node had made a run more.
func TestNumbersOfRunsBeginAnew(t *testing.T) {
	for number, want := range map[float64]int{0: 0, 2: 2} {
		run := func(n float64) []*Attempt {
			return []*Attempt{{Steps: []Step{{Method: "CreateContainer", At: time.Unix(1000, 0), Request: map[string]any{"config": map[string]any{"metadata": map[string]any{"attempt": n}}}}}}}
		}
		began := time.Unix(990, 0)
		p := &comparing{Comparison: &Comparison{}, pod: Planned{Acts: []Act{{}}}, kubelet: side(began), podctl: side(began), ahead: map[string]int{"c": 2}, drifted: map[string]bool{},
			right: map[*Attempt]bool{}, due: map[*Attempt]time.Time{}}
		p.attempts("sandbox 1 c", "c", run(number), run(number), &Attempt{}, &Attempt{})
		if p.ahead["c"] != want {
			t.Errorf("a container that begins with run %v: the kubelet is ahead by %d, want %d", number, p.ahead["c"], want)
		}
	}
}

func TestEventAfterTheEndIsMissing(t *testing.T) {
	for before, want := range map[time.Duration]int{time.Second: 0, 20 * time.Second: 1} {
		began := time.Unix(1000, 0)
		one, two := side(began), side(began)
		run := two.Life.Sandboxes[0].Containers["c"][0]
		run.Steps[len(run.Steps)-1].End = two.Ended.Add(-before)
		two.Events = append(two.Events, Event{Pod: "p", Container: "c", Reason: "Started"})
		p := &comparing{Comparison: &Comparison{}, kubelet: one, podctl: two, drifted: map[string]bool{}}
		p.events()
		if len(p.Differences) != want {
			t.Errorf("a call that ended %s before the end: %v", before, p.Differences)
		}
	}
}

// What two nodes do at the same time after the manifest has changed, they do at the same time, although it
// follows an exit on one and the end of the time for that on the other.
func TestStepsAtTheSameTime(t *testing.T) {
	began := time.Unix(1000, 0)
	p := &comparing{pod: Planned{Acts: []Act{{At: time.Second}, {At: 40 * time.Second}}}, kubelet: &Side{Began: began}, podctl: &Side{Began: began.Add(3 * time.Second)}}
	at := func(s *Side, seconds int) Step { return Step{At: s.Began.Add(time.Duration(seconds) * time.Second)} }
	for seconds, want := range map[int][2]int{49: {10, 9}, 51: {10, 11}, 39: {49, 38}} {
		kubelet, podctl := p.sinceAct(at(p.kubelet, 50), at(p.podctl, seconds))
		if kubelet != time.Duration(want[0])*time.Second || podctl != time.Duration(want[1])*time.Second {
			t.Errorf("50 and %d s: %s and %s after the manifest changed, want %v", seconds, kubelet, podctl, want)
		}
	}
}

// Runs that began at different times may end differently when the pod is stopped: one ends by itself first.
func TestRunsApartEndDifferently(t *testing.T) {
	for late, want := range map[time.Duration]int{0: 1, 9 * time.Second: 0} {
		began := time.Unix(1000, 0)
		one, two := side(began), side(began)
		run := two.Life.Sandboxes[0].Containers["c"][1]
		run.Exit.Code = 143
		run.Steps[0].At = run.Steps[0].At.Add(late)
		p := &comparing{Comparison: &Comparison{}, pod: Planned{Acts: []Act{{At: time.Second / 2}, {At: 39 * time.Second}}}, kubelet: one, podctl: two}
		p.steps("c", one.Life.Sandboxes[0].Containers["c"][1], run, nil, nil, one.Life.Sandboxes[0], two.Life.Sandboxes[0])
		exits := slices.DeleteFunc(p.Differences, func(d Difference) bool { return d.What != "c: exit" })
		if len(exits) != want {
			t.Errorf("begun %s later: %v", late, p.Differences)
		}
	}
}

func TestEndsAtTheEndOfTheGracePeriod(t *testing.T) {
	run := func(code float64, seconds int) *Attempt {
		began := time.Unix(1000, 0)
		return &Attempt{Steps: []Step{{Method: "CreateContainer", At: began}, {Method: "StopContainer", At: began.Add(8 * time.Second)}},
			Exit: Exit{Code: code, At: began.Add(time.Duration(seconds) * time.Second)}}
	}
	for _, tc := range []struct {
		a, b *Attempt
		want bool
	}{
		{run(137, 10), run(0, 9), true},
		{run(137, 10), run(0, 14), true}, // stopped earlier than the other
		{run(2, 11), run(137, 10), true},
		{run(137, 10), run(143, 10), false}, // no grace period was given
		{run(137, 14), run(0, 9), false},
		{run(0, 9), run(1, 9), false},
	} {
		if got := graceTie(tc.a, tc.b); got != tc.want {
			t.Errorf("%v and %v: %v", tc.a.Exit, tc.b.Exit, got)
		}
	}
}

// A container whose sandbox began shortly before the end, on one node only, is cut.
func TestFirstRunForWhichThereWasNoTime(t *testing.T) {
	began := time.Unix(1000, 0)
	at := func(seconds int) *Attempt {
		return &Attempt{Steps: []Step{{Method: "CreateContainer", At: began.Add(time.Duration(seconds) * time.Second)}}}
	}
	p := &comparing{Comparison: &Comparison{}, pod: Planned{Acts: []Act{{}}}, kubelet: side(began), podctl: side(began)}
	for sandbox, want := range map[int]bool{55: true, 41: false} {
		if got := p.cut(0, nil, []*Attempt{at(50)}, at(sandbox), at(40), 0); got != want {
			t.Errorf("its sandbox made at %d s of 60, the container 10 s later: cut %v", sandbox, got)
		}
	}
}

func TestProbesBeginAtRandomAfterARestart(t *testing.T) {
	for after, want := range map[int]bool{5: true, 40: false, -3: false} {
		began := time.Unix(1000, 0)
		p := &comparing{kubelet: side(began), podctl: side(began), restart: 20 * time.Second}
		at := began.Add(time.Duration(20+after) * time.Second)
		start := []Step{{Method: "CreateContainer", At: at, Code: "OK"}, {Method: "StartContainer", At: at, Code: "OK"}}
		a, b := &Attempt{Steps: start}, &Attempt{Steps: append(slices.Clone(start), Step{Method: "StopContainer", At: at.Add(4 * time.Second)})}
		if got := p.phaseTie(a, b); got != want {
			t.Errorf("begun %d s after the restart: %v", after, got)
		}
	}
}

// A container that ends while a kubelet's sync stops the one beside it is started when that has ended.
func TestStartBehindAStop(t *testing.T) {
	began := time.Unix(1000, 0)
	at := func(seconds float64) time.Time { return began.Add(time.Duration(seconds * float64(time.Second))) }
	next := &Attempt{Steps: []Step{{Method: "CreateContainer", At: at(17.5), End: at(17.5)}}}
	for stopped, want := range map[float64]bool{10.5: true, 3: false} {
		sandbox := &Attempt{Containers: map[string][]*Attempt{"c": {next}, "sidecar": {{Steps: []Step{{Method: "StopContainer", At: at(stopped), End: at(17.4)}}}}}}
		if got := behindStop(sandbox, next, next.Steps[0], 7500*time.Millisecond); got != want {
			t.Errorf("stopped from %v s, ended at 10 s: %v", stopped, got)
		}
	}
}

// What a node that began a run later would have done after the end is cut.
func TestCallsForWhichThereWasNoTime(t *testing.T) {
	for late, want := range map[time.Duration]bool{0: false, 12 * time.Second: true} {
		began := time.Unix(1000, 0)
		one, two := side(began), side(began)
		a := &Attempt{Steps: []Step{{Method: "CreateContainer", At: began.Add(38*time.Second + late)}}}
		b := &Attempt{Steps: []Step{{Method: "CreateContainer", At: began.Add(38 * time.Second)}, {Method: "StopContainer", At: began.Add(44 * time.Second)}}}
		p := &comparing{Comparison: &Comparison{}, kubelet: one, podctl: two}
		if got := p.atEnd(a, b); got != want {
			t.Errorf("begun %s later: cut %v, want %v", late, got, want)
		}
	}
}

func TestProbesBesideAContainerThatHasEndedForGood(t *testing.T) {
	ended := v1.ContainerStatus{State: v1.ContainerState{Terminated: &v1.ContainerStateTerminated{}}}
	for manifest, want := range map[string]bool{"livenessProbe:": true, "readinessProbe:": false} {
		p := &comparing{Comparison: &Comparison{}, pod: Planned{Acts: []Act{{Manifest: manifest}}}, kubelet: &Side{}, podctl: &Side{Statuses: []Sample{{
			Status: v1.PodStatus{Phase: v1.PodRunning, ContainerStatuses: []v1.ContainerStatus{ended}},
		}}}}
		row := p.rowOf(Difference{What: "sandbox 0 c2 attempt 0: seconds between probes", Kubelet: "0.57 (341)", Podctl: "1.00 (203)"})
		if (row == "a container that has ended for good has no probes") != want {
			t.Errorf("%s the row %q", manifest, row)
		}
	}
}

// A kubelet's sync that stops a container whose hook has failed publishes nothing until that has ended: a
// container beside it, started in the same sync, was never seen running.
func TestRunBesideAContainerThatIsStopped(t *testing.T) {
	began := time.Unix(1000, 0)
	step := func(method string, from, to int) Step {
		return Step{Method: method, At: began.Add(time.Duration(from) * time.Second), End: began.Add(time.Duration(to) * time.Second), Code: "OK"}
	}
	ended := run{`terminated 0 Completed ""`, 20}
	seen := Difference{What: "status of c, run 0", states: [2][]run{{ended}, {{"running", 8}, ended}}}
	for stops, want := range map[int]bool{9: true, 2: false} {
		hooked := &Attempt{Steps: []Step{step("CreateContainer", 10, 10), step("StartContainer", 10, 10), step("ExecSync", 10, 11), step("StopContainer", 11, 11+stops)}}
		p := &comparing{Comparison: &Comparison{}, podctl: side(began), kubelet: &Side{Began: began, Life: &Life{Sandboxes: []*Attempt{{Containers: map[string][]*Attempt{
			"c": {{Steps: []Step{step("CreateContainer", 10, 10)}}}, "hooked": {hooked},
		}}}}}}
		if got := p.rowOf(seen) == "a failed start is in the status at once"; got != want {
			t.Errorf("stopped for %d s: explained %v, want %v", stops, got, want)
		}
		waits := Difference{What: seen.What, states: [2][]run{{{"running", 8}, ended}, {{"running", 8}, {"waiting CrashLoopBackOff", 20}}}}
		if p.rowOf(waits) == "" {
			t.Errorf("stopped for %d s: a container that waits for its next run is not explained", stops)
		}
	}
}

func TestStartupProbeAtTheRestart(t *testing.T) {
	began, no := time.Unix(1000, 0), false
	p := &comparing{restart: 30 * time.Second, podctl: &Side{Began: began}}
	for started, want := range map[*bool]bool{&no: true, nil: false} {
		p.podctl.Statuses = []Sample{{At: began.Add(29 * time.Second), Status: v1.PodStatus{ContainerStatuses: []v1.ContainerStatus{
			{Name: "c", Started: started, State: v1.ContainerState{Running: &v1.ContainerStateRunning{}}},
		}}}}
		if got := p.startingAtRestart(); got != want {
			t.Errorf("started %v: %v, want %v", started, got, want)
		}
		p.pod.Acts = []Act{{}}
		p.kubelet = &Side{}
		for what, explained := range map[string]bool{"sandbox 0 c attempt 0: seconds between probes": want, "sandbox 0 c attempt 0 CreateContainer .config": false} {
			if got := p.rowOf(Difference{What: what, Kubelet: "5.10 (11)", Podctl: "3.73 (14)"}) != ""; got != explained {
				t.Errorf("started %v: %s explained %v, want %v", started, what, got, explained)
			}
		}
	}
}

func TestASecondTooLateIsFound(t *testing.T) {
	var c Comparison
	for i := range 5 {
		began := time.Unix(int64(1000+100*i), 0)
		late := side(began)
		stop := &late.Life.Sandboxes[0].Steps[1]
		stop.At, stop.End = stop.At.Add(time.Second), stop.End.Add(time.Second)
		for _, a := range late.Life.Sandboxes[0].Containers["c"] {
			for i := range a.Steps {
				a.Steps[i].At, a.Steps[i].End = a.Steps[i].At.Add(time.Second), a.Steps[i].End.Add(time.Second)
			}
			a.Exit.At = a.Exit.At.Add(time.Second)
		}
		c.Add(Planned{Name: "p", Acts: []Act{{At: time.Second / 2, Manifest: "kind: Pod"}, {At: 39 * time.Second}}}, 0, side(began), late)
	}
	if late := c.Systematic(); len(late) != 2 { // the first container after its sandbox, and the stop after its manifest went
		t.Errorf("late are %q", late)
	}
}

// TestPageHasASeedOnce: another comparison of it replaces the first.
func TestPageHasASeedOnce(t *testing.T) {
	text, err := os.ReadFile("../../docs/twin.md")
	if err != nil {
		t.Fatal(err)
	}
	before := &Comparison{Differences: []Difference{{Row: "a row"}, {Row: "another"}}}
	write := func(c *Comparison, text string) string {
		written, err := c.Page(text, "99")
		if err != nil {
			t.Fatal(err)
		}
		return written
	}
	again := &Comparison{Differences: []Difference{{Row: "a row"}}}
	once, twice := write(again, string(text)), write(again, write(before, string(text)))
	if _, err := again.Page("# No tables\n", "99"); err == nil {
		t.Error("a page without tables was written")
	}
	if once != twice || !strings.Contains(once, "| a row | 99: 1 |") {
		t.Errorf("got\n%s\nwant\n%s", twice, once)
	}
}

// TestRowsAreOnThePage: a row that is no longer true is removed from both.
func TestRowsAreOnThePage(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "kubelet-differences.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if !strings.Contains(string(page), "\n| "+r.begins) {
			t.Errorf("no row of docs/kubelet-differences.md begins with %q", r.begins)
		}
	}
}

// TestStatusAfterACancelledCall: podctl shows what a kubelet's sync, which goes on, does not publish.
func TestStatusAfterACancelledCall(t *testing.T) {
	began := time.Unix(1000, 0)
	before, ready := run{"False ContainersNotReady", 70}, run{"True", 8}
	for code, want := range map[string]bool{"Canceled": true, "OK": false} {
		p := &comparing{Comparison: &Comparison{}, kubelet: side(began), podctl: side(began)}
		p.podctl.Life.Sandboxes[0].Containers["c"][1].Steps[4].Code = code
		explained := func(states ...[]run) bool {
			return p.rowOf(Difference{What: "status of condition Ready", states: [2][]run{states[0], states[1]}}) != ""
		}
		if more, less := explained([]run{before}, []run{before, ready}), explained([]run{before, ready}, []run{before}); more != want || less {
			t.Errorf("%s: what podctl shows more is explained %v, what it shows less %v", code, more, less)
		}
	}
}

// TestStepsAtOnceAreNoCause: containers that are stopped together wait for none of each other, however long that takes.
func TestStepsAtOnceAreNoCause(t *testing.T) {
	began := time.Unix(1000, 0)
	at := func(seconds float64) time.Time { return began.Add(time.Duration(seconds * float64(time.Second))) }
	stopped := &Attempt{Steps: []Step{{Method: "ExecSync", At: at(10), End: at(22)}, {Method: "StopContainer", At: at(20), End: at(22)}}}
	for _, took := range []float64{0.02, 0.06} {
		beside := &Attempt{Steps: []Step{{Method: "StopContainer", At: at(20), End: at(20 + took)}}}
		sandbox := &Attempt{Containers: map[string][]*Attempt{"c": {stopped}, "sidecar": {beside}}}
		p := &comparing{kubelet: side(began)}
		if delay, after := p.delay(p.kubelet, stopped, 1, nil, sandbox); delay != 10*time.Second || after != "ExecSync" {
			t.Errorf("beside a stop of %v s: %s after %s", took, delay, after)
		}
	}
}

// TestProbesFailAtAFlip: a node whose probes know a container a relist later may see its file in time.
func TestProbesFailAtAFlip(t *testing.T) {
	began := time.Unix(1000, 0)
	p := &comparing{pod: Planned{Acts: []Act{{Manifest: "metadata: {annotations: {sim.podctl.io/script.c: sleep 5; touch /ready; sleep infinity}}\nspec: {containers: [{name: c, startupProbe: {periodSeconds: 1}}]}"}}}}
	run := func(stopped float64) *Attempt {
		a := &Attempt{Steps: []Step{{Method: "StartContainer", At: began, End: began}}}
		if stopped > 0 {
			a.Steps = append(a.Steps, Step{Method: "StopContainer", At: began.Add(time.Duration(stopped * float64(time.Second)))})
		}
		return a
	}
	for _, tc := range []struct {
		a, b float64 // when each is stopped, 0 for not
		want bool
	}{{15, 4.5, true}, {0, 4.5, true}, {4.6, 4.5, false}, {15, 9, false}, {0, 0, false}} {
		if got := p.flipTie("c", run(tc.a), run(tc.b)); got != tc.want {
			t.Errorf("stopped after %v and %v s: %v", tc.a, tc.b, got)
		}
	}
	if got := flips("touch /ready; sleep 4; rm /ready; sleep 15; touch /ready; sleep infinity"); !slices.Equal(got, []time.Duration{4 * time.Second, 19 * time.Second}) {
		t.Errorf("flips %v", got)
	}
}

// TestStepsByTheirOwnRun: a stop is as long after its container's start as its twin, whatever happened beside it.
func TestStepsByTheirOwnRun(t *testing.T) {
	began := time.Unix(1000, 0)
	p := &comparing{}
	run := func(stopped int) *Attempt {
		return &Attempt{Steps: []Step{{Method: "StartContainer", At: began, End: began}, {Method: "StopContainer", At: began.Add(time.Duration(stopped) * time.Second)}}}
	}
	for stopped, want := range map[int]bool{12: false, 30: true} {
		if got := p.lateAfterOwn(run(11), run(stopped), 1, "StopContainer after StartContainer"); got != want {
			t.Errorf("stopped after 11 and %d s: late %v", stopped, got)
		}
	}
}

// TestMoreSyncsAskSooner: a kubelet's container may be ready where podctl's was asked once less.
func TestMoreSyncsAskSooner(t *testing.T) {
	began := time.Unix(1000, 0)
	running, ready, ended := run{"running, before 137 Error", 12}, run{"running ready, before 137 Error", 11}, run{"waiting CrashLoopBackOff, before 137 Error", 30}
	p := &comparing{Comparison: &Comparison{}, pod: Planned{Acts: []Act{{}}}, kubelet: side(began), podctl: side(began)}
	explained := func(a, b []run) bool {
		return p.rowOf(Difference{What: "status of c, run 2", states: [2][]run{a, b}}) == "hints of a pod wait while an operation changes it"
	}
	if !explained([]run{ready, ended}, []run{running, ended}) || explained([]run{running, ended}, []run{ready, ended}) || explained([]run{ready, ended}, []run{running}) {
		t.Error("only a container that is not ready yet is explained")
	}
}

// TestPodThatComesBackFindsItsRuns: a kubelet's is Failed where podctl starts another one.
func TestPodThatComesBackFindsItsRuns(t *testing.T) {
	for policy, want := range map[string]bool{"Never": true, "Always": false} {
		manifest := "spec: {restartPolicy: " + policy + "}"
		p := &comparing{pod: Planned{Acts: []Act{{Manifest: manifest}, {}, {Manifest: manifest}}}, kubelet: &Side{}, podctl: &Side{}}
		if got := p.rowOf(Difference{What: "status of the pod"}) != ""; got != want {
			t.Errorf("restartPolicy %s: explained %v", policy, got)
		}
	}
}

// TestEventsAtTheEnd: what repeats at a node's own times may not have come yet on the other.
func TestEventsAtTheEnd(t *testing.T) {
	began := time.Unix(1000, 0)
	for before, want := range map[time.Duration]int{time.Second: 0, 30 * time.Second: 1} {
		p := &comparing{Comparison: &Comparison{}, pod: Planned{Acts: []Act{{}}}, kubelet: side(began), podctl: side(began), drifted: map[string]bool{}}
		p.podctl.Events = append(p.podctl.Events, slices.Repeat([]Event{{Pod: "p", Container: "c", Reason: "BackOff", At: p.podctl.Ended.Add(-before)}}, 2)...)
		if p.events(); len(p.Differences) != want {
			t.Errorf("%s before the end: %v", before, p.Differences)
		}
	}
}

// TestContainersThatOnlyOneHasAreNoOrder: one node was told to stop before it made them.
func TestContainersThatOnlyOneHasAreNoOrder(t *testing.T) {
	at := func(seconds int64) []*Attempt {
		return []*Attempt{{Steps: []Step{{Method: "CreateContainer", At: time.Unix(seconds, 0)}}}}
	}
	for name, tc := range map[string]struct {
		podctl map[string][]*Attempt
		want   int
	}{
		"none":          {nil, 0},
		"the same":      {map[string][]*Attempt{"a": at(3), "b": at(4)}, 0},
		"another order": {map[string][]*Attempt{"a": at(4), "b": at(3)}, 1},
	} {
		p := &comparing{Comparison: &Comparison{}, pod: Planned{Acts: []Act{{}}}, kubelet: &Side{}, podctl: &Side{}}
		if p.order("sandbox 0", &Attempt{Containers: map[string][]*Attempt{"a": at(1), "b": at(2)}}, &Attempt{Containers: tc.podctl}); len(p.Differences) != tc.want {
			t.Errorf("%s: %v", name, p.Differences)
		}
	}
}

// TestStopsBeforeAndAfterTheManifestChanged: by a probe, and because of the change.
func TestStopsBeforeAndAfterTheManifestChanged(t *testing.T) {
	began := time.Unix(1000, 0)
	p := &comparing{pod: Planned{Acts: []Act{{}, {At: 40 * time.Second}}}, kubelet: &Side{Began: began}, podctl: &Side{Began: began}}
	at := func(seconds int) Step { return Step{At: began.Add(time.Duration(seconds) * time.Second)} }
	for _, tc := range []struct {
		a, b int
		want bool
	}{{39, 41, true}, {41, 42, false}, {30, 41, false}} {
		if got := p.actTie(at(tc.a), at(tc.b)); got != tc.want {
			t.Errorf("stopped at %d and %d s, of a manifest that changed at 40: %v", tc.a, tc.b, got)
		}
	}
}

// TestDeadlineCloses: what one node does just before the deadline of its pod, the other had no time for.
func TestDeadlineCloses(t *testing.T) {
	began := time.Unix(1000, 0)
	s := side(began)
	for deadline, want := range map[string]int{"activeDeadlineSeconds: 14": 15, "{}": 43} {
		p := &comparing{pod: Planned{Acts: []Act{{At: time.Second, Manifest: "spec: {" + strings.Trim(deadline, "{}") + "}"}}}}
		if got := p.closing(s.Life.Sandboxes[0], s, 0).Sub(began).Round(time.Second); got != time.Duration(want)*time.Second {
			t.Errorf("%s: closes after %s, want %d s", deadline, got, want)
		}
	}
}

// TestRunsOnEitherSideOfTheRestart: one had ended, and waited for its back-off, which its node forgot.
func TestRunsOnEitherSideOfTheRestart(t *testing.T) {
	began := time.Unix(1000, 0)
	run := func(from, to int) *Attempt {
		at := began.Add(time.Duration(from) * time.Second)
		return &Attempt{Steps: []Step{{Method: "CreateContainer", At: at, End: at, Code: "OK"}}, Exit: Exit{At: began.Add(time.Duration(to) * time.Second)}}
	}
	p := &comparing{kubelet: side(began), podctl: side(began), restart: 30 * time.Second}
	for end, want := range map[int]bool{29: true, 34: false} {
		if got := p.spansRestart(run(22, 34), run(end-12, end)); got != want {
			t.Errorf("ended after 34 and %d s, restarted after 30: %v", end, got)
		}
	}
}

// TestStatesInTheTimeOfTheTwin: a run that began shortly before the end has not come so far.
func TestStatesInTheTimeOfTheTwin(t *testing.T) {
	p := &comparing{}
	s := &Side{Statuses: []Sample{{Status: v1.PodStatus{ContainerStatuses: []v1.ContainerStatus{{Name: "c", RestartCount: 8}}}}}}
	all := []run{{"running", 4}, {"waiting CrashLoopBackOff", 20}}
	if got := p.inTimeOf(s, "c, run 8", []run{{"running", 2}}, all); !slices.Equal(got, []run{{"running", 2}}) {
		t.Errorf("beside a run of two seconds: %v", got)
	}
	late := side(time.Unix(1000, 0))
	late.Life.Sandboxes[0].Containers["c"][1].Steps[0].At = late.Ended.Add(-time.Second)
	if got := p.inTimeOf(late, "c, run 1", nil, all); got != nil {
		t.Errorf("beside a run that began at the end: %v", got)
	}
	if got := p.inTimeOf(s, "c, run 7", []run{{"running", 2}}, all); !slices.Equal(got, all) {
		t.Errorf("beside a run that is over: %v", got)
	}
}

// TestBriefRunsAreNotSeen: a status that shows one for long is of a sync that goes on.
func TestBriefRunsAreNotSeen(t *testing.T) {
	began := time.Unix(1000, 0)
	for lasted, want := range map[int]bool{3: true, 30: false} {
		at := began.Add(10 * time.Second)
		s := &Side{Life: &Life{Sandboxes: []*Attempt{{Containers: map[string][]*Attempt{"c": {{Steps: []Step{{Method: "CreateContainer", At: at}}, Exit: Exit{At: at.Add(time.Duration(lasted) * time.Second)}}}}}}}}
		p := &comparing{pod: Planned{Acts: []Act{{}}}, kubelet: s, podctl: s}
		waiting := run{"waiting CrashLoopBackOff", 20}
		d := Difference{What: "status of c, run 0", states: [2][]run{{{"running", 12}, waiting}, {waiting}}}
		if got := p.rowOf(d) != ""; got != want {
			t.Errorf("a run of %d s: explained %v", lasted, got)
		}
	}
}

// TestKubeletMayBeBehind: by two relists, of which podctl waits for none.
func TestKubeletMayBeBehind(t *testing.T) {
	p := &comparing{}
	for _, tc := range []struct {
		kubelet, podctl time.Duration
		want            bool
	}{{3 * time.Second, 0, false}, {0, 3 * time.Second, true}, {5 * time.Second, 0, true}} {
		if got := p.late(tc.kubelet, tc.podctl, "StopPodSandbox after exit"); got != tc.want {
			t.Errorf("%s and %s after an exit: late %v", tc.kubelet, tc.podctl, got)
		}
	}
}

// TestDriftedContainersStartByTheirOwnBackOff: what they ask for is compared, and when the rest of a run comes.
func TestDriftedContainersStartByTheirOwnBackOff(t *testing.T) {
	began := time.Unix(1000, 0)
	for drifted, want := range map[bool]int{true: 0, false: 1} {
		one, two := side(began), side(began)
		late := two.Life.Sandboxes[0].Containers["c"]
		for i := range late[1].Steps {
			late[1].Steps[i].At, late[1].Steps[i].End = late[1].Steps[i].At.Add(13*time.Second), late[1].Steps[i].End.Add(13*time.Second)
		}
		p := &comparing{Comparison: &Comparison{}, pod: Planned{Acts: []Act{{}}}, kubelet: one, podctl: two, apartBefore: drifted}
		a, b := one.Life.Sandboxes[0], two.Life.Sandboxes[0]
		p.steps("c", a.Containers["c"][1], late[1], a.Containers["c"][0], late[0], a, b)
		starts := slices.DeleteFunc(p.Differences, func(d Difference) bool { return !strings.Contains(d.What, "CreateContainer after") })
		if len(starts) != want {
			t.Errorf("drifted %v: %v", drifted, p.Differences)
		}
	}
}

// TestFailedFirstStart: podctl shows it at once, a kubelet with the next sync.
func TestFailedFirstStart(t *testing.T) {
	p := &comparing{pod: Planned{Acts: []Act{{}}}, kubelet: &Side{}, podctl: &Side{}}
	ended := run{`terminated 0 Completed "" ready`, 200}
	for podctl, want := range map[string]bool{"waiting CreateContainerError": true, "waiting ErrImagePull": false} {
		d := Difference{What: "status of init, run 0", states: [2][]run{{{"waiting PodInitializing", 14}, ended}, {{"waiting PodInitializing", 2}, {podctl, 14}, ended}}}
		if got := p.rowOf(d) == "a failed start is in the status at once"; got != want {
			t.Errorf("%s: explained %v", podctl, got)
		}
	}
}
