package usage

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

var start = time.Date(2026, 1, 2, 15, 0, 0, 0, time.UTC)

func cpuSample(source Source, after, used time.Duration) Snapshot {
	return Snapshot{Containers: map[string]Sample{"c": {Source: source, At: start.Add(after), CPU: &used}}}
}

func TestRateFromTwoSamples(t *testing.T) {
	one := cpuSample(FromCgroup, 0, time.Second)
	for name, c := range map[string]struct {
		first, second Snapshot
		want          *float64
	}{
		"half a core":               {one, cpuSample(FromCgroup, 2*time.Second, 2*time.Second), new(0.5)},
		"idle":                      {one, cpuSample(FromCgroup, time.Second, time.Second), new(0.0)},
		"reset counter":             {one, cpuSample(FromCgroup, time.Second, time.Millisecond), nil},
		"another source":            {one, cpuSample(FromRuntime, time.Second, 2*time.Second), nil},
		"the same cached answer":    {one, one, nil},
		"clock set back":            {one, cpuSample(FromCgroup, -time.Second, 2*time.Second), nil},
		"started in between":        {Snapshot{}, one, nil},
		"the counter is not known":  {one, Snapshot{Containers: map[string]Sample{"c": {At: start.Add(time.Second)}}}, nil},
		"it was not known at first": {Snapshot{Containers: map[string]Sample{"c": {At: start}}}, cpuSample(FromCgroup, time.Second, time.Second), nil},
	} {
		t.Run(name, func(t *testing.T) {
			same(t, Rates(c.first, c.second)["c"].CPU, c.want)
		})
	}
}

func same(t *testing.T, got, want *float64) {
	t.Helper()
	if (got == nil) != (want == nil) || got != nil && *got != *want {
		t.Errorf("%v, want %v", text(got), text(want))
	}
}

func text(n *float64) any {
	if n == nil {
		return "unknown"
	}
	return *n
}

func TestPodUsageIsSumOfContainers(t *testing.T) {
	p := &pod.Pod{UID: "u", Sandboxes: []*pod.Sandbox{{ID: "s", State: pod.Running}}, Containers: []*pod.Container{
		{ID: "a", State: pod.Running}, {ID: "b", State: pod.Running}, {ID: "old", State: pod.Exited},
	}}
	limited := func(cpu float64, memory uint64) Usage {
		return Usage{CPU: new(cpu), Memory: new(memory), PIDs: new(uint64(2)), Limits: Limits{new(1.0), new(uint64(100))}}
	}
	network := func(after time.Duration, rx, tx uint64) Snapshot {
		return Snapshot{Networks: map[string]Network{"s": {At: start.Add(after), Rx: rx, Tx: tx}}}
	}
	u := OfPod(p, map[string]Usage{"a": limited(0.5, 30), "b": limited(0.25, 20)}, network(0, 1000, 500), network(2*time.Second, 3000, 500))
	same(t, u.CPU, new(0.75))
	same(t, u.CPUPercent(), new(37.5))
	same(t, u.MemoryPercent(), new(25.0))
	same(t, u.Rx, new(1000.0))
	same(t, u.Tx, new(0.0))

	// A part that is not known makes the sum unknown, and a container without a
	// limit the limit of the pod.
	u = OfPod(p, map[string]Usage{"a": limited(0.5, 30), "b": {Memory: new(uint64(20))}}, Snapshot{}, network(time.Second, 1, 1))
	same(t, u.CPU, nil)
	same(t, u.CPUPercent(), nil)
	same(t, u.MemoryPercent(), nil)
	same(t, u.Rx, nil)
	if u.Memory == nil || *u.Memory != 50 {
		t.Errorf("memory %v", u.Memory)
	}

	// The pod's own cgroup has the last word.
	u = OfPod(p, map[string]Usage{"a": limited(0.5, 30), "b": limited(0.5, 30)}, Snapshot{},
		Snapshot{Limits: map[types.UID]Limits{"u": {MemoryLimit: new(uint64(120))}}})
	same(t, u.MemoryPercent(), new(50.0))

	// Nothing runs.
	u = OfPod(&pod.Pod{UID: "u"}, nil, Snapshot{}, Snapshot{})
	same(t, u.CPU, nil)
}

func TestReplacedSandboxHasNoRate(t *testing.T) {
	p := &pod.Pod{Sandboxes: []*pod.Sandbox{{ID: "new", State: pod.Running}, {ID: "old", State: pod.Exited}}}
	first := Snapshot{Networks: map[string]Network{"old": {At: start, Rx: 9000}}}
	second := Snapshot{Networks: map[string]Network{"new": {At: start.Add(time.Second), Rx: 10}}}
	same(t, OfPod(p, nil, first, second).Rx, nil)
}

func TestThrottling(t *testing.T) {
	limit := Limits{CPULimit: new(0.5)}
	same(t, Usage{Periods: new(uint64(10)), Throttled: new(uint64(4)), Limits: limit}.ThrottledPercent(), new(40.0))
	same(t, Usage{Periods: new(uint64(0)), Throttled: new(uint64(0)), Limits: limit}.ThrottledPercent(), new(0.0))
	same(t, Usage{Periods: new(uint64(0)), Throttled: new(uint64(0))}.ThrottledPercent(), nil)
	same(t, Usage{Limits: limit}.ThrottledPercent(), nil)
}
