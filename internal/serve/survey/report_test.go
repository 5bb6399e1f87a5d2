package survey

import (
	"errors"
	"maps"
	"syscall"
	"testing"
	"time"

	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/pods/orphan"
	"github.com/podctl/podctl/internal/pods/view"
	"github.com/podctl/podctl/internal/pods/why"
	"github.com/podctl/podctl/internal/sys/proc"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// stoppedShim are the facts of a pod whose shim is stopped.
func stoppedShim(requested time.Time) *view.Pod {
	return ended(view.Ending{Requested: requested, Containers: []view.ContainerProcess{{Name: "c", PID: 7, Shim: proc.Process{PID: 6, State: proc.Stopped}}}})
}

// stoppedProcess are the facts of a pod with a stopped process.
func stoppedProcess(left time.Duration) *view.Pod {
	return ended(view.Ending{
		GraceLeft: &left, KubeletTerminates: true,
		Containers: []view.ContainerProcess{{Name: "c", PID: 7, Process: proc.Process{PID: 7, State: proc.Stopped}, Shim: proc.Process{PID: 6, State: proc.Sleeping}}},
	})
}

func ended(e view.Ending) *view.Pod {
	return &view.Pod{Metadata: view.Metadata{UID: "a", Namespace: "default", Name: "db"}, Ending: e}
}

func TestEveryClassAndLayerIsCounted(t *testing.T) {
	r := Count(Findings{}, noon)
	if len(r.Orphans.ByClass) != len(orphan.Classes())-1 || len(r.Terminating.Stuck) != len(why.StuckLayers()) {
		t.Errorf("%+v", r)
	}
	if r.Orphans.Unknown != nil || r.Terminating.Unknown != nil || !r.Terminating.Since.IsZero() {
		t.Errorf("%+v", r)
	}
}

func TestWhatIsFoundIsCountedAlthoughOtherIsUnknown(t *testing.T) {
	silent, hidden := errors.New("silent"), errors.New("hidden")
	f := Findings{
		Findings: orphan.Findings{
			Orphans:      []orphan.Orphan{{Class: orphan.Abandoned}, {Class: orphan.Abandoned}, {Class: orphan.Directory}},
			Undetermined: []*view.Pod{{}},
		},
		OrphansUnknown: silent, DirsUnknown: hidden, TerminatingUnknown: silent,
		Terminating: []Terminated{{Pod: stoppedShim(noon.Add(-time.Minute))}},
	}
	r := Count(f, noon)
	if want := map[orphan.Class]int{orphan.Abandoned: 2, orphan.Directory: 1}; !maps.Equal(r.Orphans.ByClass, want) || r.Orphans.Undetermined != 1 {
		t.Errorf("%+v, want %v", r.Orphans, want)
	}
	if want := map[why.Layer]int{why.LayerShim: 1}; !maps.Equal(r.Terminating.Stuck, want) || r.Terminating.Pods != 1 {
		t.Errorf("%+v, want %v", r.Terminating, want)
	}
	f.OrphansUnknown, f.Orphans, f.TerminatingUnknown = nil, nil, nil
	r = Count(f, noon)
	if _, claimed := r.Orphans.ByClass[orphan.Directory]; claimed || len(r.Orphans.ByClass) != 5 || !errors.Is(r.Orphans.Unknown, hidden) {
		t.Errorf("with unknown directories: %+v", r.Orphans)
	}
	if len(r.Terminating.Stuck) != len(why.StuckLayers()) || r.Terminating.Unknown != nil {
		t.Errorf("%+v", r.Terminating)
	}
}

func TestGracePeriodIsNotStuck(t *testing.T) {
	for _, c := range []struct {
		layer why.Layer
		left  time.Duration
		want  bool
	}{
		{why.LayerProcess, time.Second, false},
		{why.LayerProcess, -time.Second, true},
		{why.LayerHook, time.Second, false},
		{why.LayerHook, -time.Second, true},
		{why.LayerShim, time.Hour, true},
		{why.LayerNone, -time.Hour, false},
	} {
		if got := isStuck(c.layer, ended(view.Ending{GraceLeft: &c.left})); got != c.want {
			t.Errorf("%s with %v left: %v", c.layer, c.left, got)
		}
	}
	r := Count(Findings{Terminating: []Terminated{{Pod: stoppedProcess(time.Minute)}}}, noon)
	if r.Terminating.Stuck[why.LayerProcess] != 0 || r.Terminating.Pods != 1 {
		t.Errorf("%+v", r.Terminating)
	}
}

// A pod that the kubelet does not name any more has been terminating since it was
// noticed, or for longer.
func TestGracePeriodOfAnUnnamedPodCountsFromWhenItWasNoticed(t *testing.T) {
	minute := time.Minute
	deaf := func(grace *time.Duration, pending proc.SignalSet) *view.Pod {
		p := ended(view.Ending{
			KubeletTerminates: true, Unnamed: true, SandboxReady: true,
			Containers: []view.ContainerProcess{{
				Name: "c", PID: 7, Grace: grace, Shim: proc.Process{PID: 6, State: proc.Sleeping},
				Process: proc.Process{PID: 7, State: proc.Uninterruptible, Ignored: 1 << (syscall.SIGTERM - 1), Pending: pending},
			}},
		})
		p.Name, p.Verdict.Kind = "deaf", owners.ByKubelet
		return p
	}
	for _, c := range []struct {
		name    string
		facts   *view.Pod
		noticed time.Duration
		stuck   map[why.Layer]int
		known   bool
	}{
		{"within it", deaf(&minute, 0), -50 * time.Second, nil, true},
		{"after it", deaf(&minute, 0), -2 * time.Minute, map[why.Layer]int{why.LayerProcess: 1}, true},
		{"of unknown length", deaf(nil, 0), -time.Hour, nil, false},
		{"after SIGKILL", deaf(nil, 1<<(syscall.SIGKILL-1)), 0, map[why.Layer]int{why.LayerProcess: 1}, true},
	} {
		r := Count(Findings{Terminating: []Terminated{{Pod: c.facts, Noticed: noon.Add(c.noticed)}}}, noon)
		maps.DeleteFunc(r.Terminating.Stuck, func(_ why.Layer, n int) bool { return n == 0 })
		if !maps.Equal(r.Terminating.Stuck, c.stuck) || (r.Terminating.Unknown == nil) != c.known {
			t.Errorf("%s: %+v", c.name, r.Terminating)
		}
	}
}

func TestOldestTerminationCountsFromItsRequestElseFromWhenItWasNoticed(t *testing.T) {
	r := Count(Findings{Terminating: []Terminated{
		{Pod: stoppedShim(noon.Add(-time.Minute)), Noticed: noon.Add(-time.Second)},
		{Pod: stoppedShim(time.Time{}), Noticed: noon.Add(-time.Hour)},
	}}, noon)
	if !r.Terminating.Since.Equal(noon.Add(-time.Hour)) {
		t.Errorf("since %v", r.Terminating.Since)
	}
}

func TestPodWhoseLayerIsHiddenMakesTheCountUnknown(t *testing.T) {
	f := ended(view.Ending{Containers: []view.ContainerProcess{{Name: "c", PID: 7, Hidden: true}}, SandboxReady: true})
	r := Count(Findings{Terminating: []Terminated{{Pod: f, Noticed: noon}}}, noon)
	if r.Terminating.Unknown == nil || len(r.Terminating.Stuck) != 0 {
		t.Errorf("%+v", r.Terminating)
	}
}
