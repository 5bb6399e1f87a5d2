package twin

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// TestProbesAtAnotherPaceAreFound: those that a sync asks besides, that failed for the caller, or that came after
// the pod was told to stop, are no other pace.
func TestProbesAtAnotherPaceAreFound(t *testing.T) {
	began := time.Unix(1000, 0)
	every := func(period float64) (probes []Step) {
		for at := 11.0; at < 38; at += period {
			probes = append(probes, Step{Method: "ExecSync", Code: "OK", At: began.Add(time.Duration(at * float64(time.Second)))})
		}
		return probes
	}
	add := func(probes []Step, code string, times ...float64) []Step {
		for _, at := range times {
			probes = append(probes, Step{Method: "ExecSync", Code: code, At: began.Add(time.Duration(at * float64(time.Second)))})
		}
		slices.SortStableFunc(probes, func(a, b Step) int { return a.At.Compare(b.At) })
		return probes
	}
	for name, tc := range map[string]struct {
		podctl []Step
		want   bool
	}{
		"the same":                {every(1), false},
		"slower":                  {every(1.5), true},
		"faster":                  {every(0.6), true},
		"asked by syncs":          {add(every(1), "OK", 11.3, 12.3, 12.4, 13.3, 14.3, 15.3, 16.3, 17.3, 18.3, 19.3, 20.3, 21.3, 22.4), false},
		"asked again":             {add(every(1), "Unknown", slices.Repeat([]float64{37.9}, 20)...), false},
		"while the pod has to go": {add(every(1), "OK", 44, 50, 56), false},
	} {
		one, two := side(began), side(began)
		one.Life.Sandboxes[0].Containers["c"][1].Probes = every(1)
		two.Life.Sandboxes[0].Containers["c"][1].Probes = tc.podctl
		var c Comparison
		c.Add(Planned{Name: "p", Acts: []Act{{At: time.Second / 2, Manifest: "kind: Pod"}, {At: 39 * time.Second}}}, 0, one, two)
		found := slices.ContainsFunc(c.Differences, func(d Difference) bool { return strings.Contains(d.What, "seconds between probes") })
		if found != tc.want {
			t.Errorf("%s: differences %v", name, c.Differences)
		}
	}
}

// TestProbesOfWhatHasEnded: a kubelet learns of an exit by its next relist.
func TestProbesOfWhatHasEnded(t *testing.T) {
	began := time.Unix(1000, 0)
	for after, want := range map[time.Duration]bool{500 * time.Millisecond: true, -300 * time.Millisecond: true, -5 * time.Second: false} {
		one, two := side(began), side(began)
		one.Events = append(one.Events, slices.Repeat([]Event{{Pod: "p", Container: "c", Reason: "Unhealthy", At: began.Add(10*time.Second + after)}}, 3)...)
		var c Comparison
		c.Add(Planned{Name: "p", Acts: []Act{{At: time.Second / 2, Manifest: "kind: Pod"}}}, 0, one, two)
		explained := slices.ContainsFunc(c.Differences, func(d Difference) bool { return strings.HasPrefix(d.Row, "the runtime's events are hints") })
		if explained != want {
			t.Errorf("%s after the exit: %v", after, c.Differences)
		}
	}
}

// TestSandboxOnEitherSideOfTheRestart: what the killed node was doing in it, it has forgotten; a call that failed
// shortly before was not broken off.
func TestSandboxOnEitherSideOfTheRestart(t *testing.T) {
	began := time.Unix(1000, 0)
	for restart, want := range map[time.Duration]bool{0: true, 3 * time.Second: false} {
		one, two := side(began), side(began)
		sandbox := one.Life.Sandboxes[0]
		sandbox.Steps = []Step{{Method: "RunPodSandbox", At: began.Add(4 * time.Second), End: began.Add(4 * time.Second), Code: "OK"}}
		p := &comparing{Comparison: &Comparison{}, pod: Planned{Name: "p", Acts: []Act{{At: time.Second / 2}}}, kubelet: one, podctl: two, restart: restart,
			drifted: map[string]bool{}, right: map[*Attempt]bool{}, due: map[*Attempt]time.Time{}, ahead: map[string]int{}}
		p.lives()
		if found := slices.ContainsFunc(p.Differences, func(d Difference) bool { return d.What == "sandbox 0: calls" }); found != want || p.drifted["c"] == want {
			t.Errorf("restart after %s: drifted %v, differences %v", restart, p.drifted, p.Differences)
		}
	}
	failed := &Attempt{Steps: []Step{{Method: "RunPodSandbox", At: began.Add(2600 * time.Millisecond), End: began.Add(2600 * time.Millisecond), Code: "Unavailable"}}}
	broken := &Attempt{Steps: []Step{{Method: "RunPodSandbox", At: began.Add(2600 * time.Millisecond), End: began.Add(3 * time.Second), Code: "Unavailable"}}}
	if left := withoutBroken([]*Attempt{failed, broken}, began.Add(3*time.Second)); len(left) != 1 || left[0] != failed {
		t.Errorf("%d attempts are left", len(left))
	}
}
