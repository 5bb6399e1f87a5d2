package oracle

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/protobuf/proto"
	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/manifest"
	"github.com/podctl/podctl/internal/node"
	"github.com/podctl/podctl/test/live"
	"github.com/podctl/podctl/test/live/record"
)

// TestPodsLive runs every recorded pod on a real containerd as the kubelet
// did, and compares all calls that change something with the kubelet's. The
// pod is removed once the last call has been seen that the kubelet made before
// its removal. That nothing happens too early in a time in which nothing
// should happen is not for this test: podsync replays the recordings in
// virtual time.
func TestPodsLive(t *testing.T) {
	cases := readPodCases(t)
	h := newHost(t, live.Runtime(t, live.Containerd), recordingNode(cases))
	longestFirst := slices.SortedFunc(maps.Keys(cases), func(a, b string) int {
		return cmp.Or(cmp.Compare(cases[b].removedAfter, cases[a].removedAfter), cmp.Compare(a, b))
	})
	for _, name := range longestFirst {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := loadRecorded(t, cases[name].dir)
			removesHostPaths(t, want.Pod)
			disturbance := "none yet"
			for attempt := 1; disturbance != "" && attempt <= attempts; attempt++ {
				t.Run(fmt.Sprintf("attempt %d", attempt), func(t *testing.T) {
					if disturbance = replay(t, h.podctl(t, name), cases[name], want, attempt == attempts); disturbance != "" {
						t.Logf("repeated: %s", disturbance)
					}
				})
			}
		})
	}
}

// TestPodsAreHonoured needs no runtime.
func TestPodsAreHonoured(t *testing.T) {
	for name, c := range readPodCases(t) {
		t.Run(name, func(t *testing.T) { loadRecorded(t, c.dir) })
	}
}

// loadRecorded loads the pod as podctl run does.
func loadRecorded(t *testing.T, dir string) node.Desired {
	t.Helper()
	set, err := manifest.Load(t.Context(), []string{filepath.Join(dir, "pod.yaml")}, manifest.LoadOptions{})
	if err != nil || len(set.Pods) != 1 {
		t.Fatalf("the kubelet ran it: %d pods, %v", len(set.Pods), err)
	}
	return node.Desired{Pod: set.Pods[0].Pod, Document: set.Pods[0].Document}
}

// removesHostPaths removes what the pod makes on the host outside its directory, which
// stays when the pod is removed.
func removesHostPaths(t *testing.T, p *v1.Pod) {
	for _, v := range p.Spec.Volumes {
		if v.HostPath == nil {
			continue
		}
		if _, err := os.Lstat(v.HostPath.Path); errors.Is(err, fs.ErrNotExist) {
			t.Cleanup(func() {
				if err := os.Remove(v.HostPath.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
					t.Error(err)
				}
			})
		}
	}
}

// attempts is how often a pod runs at most, as long as the machine, and not podctl, makes
// its calls differ from the recording.
const attempts = 4

// enough is how long a busy machine may take for what must happen.
const enough = 4 * time.Minute

// replay runs the pod, removes it when the recording did, and compares. It returns what
// disturbed the run: then it compares only if this is the last attempt.
func replay(t *testing.T, p *podctl, c podCase, want node.Desired, last bool) (disturbance string) {
	before := slices.IndexFunc(c.calls, func(call podCall) bool { return call.T >= c.removedAfter })
	if before < 0 {
		before = len(c.calls)
	}
	order := orderOf(c.pod)
	expected := order.even(c.calls[:before])
	seen := func() bool {
		sofar := order.even(p.calls())
		return len(sofar.calls) >= len(expected.calls) && len(sofar.probes) >= len(expected.probes)
	}
	// A container that the kubelet did not stop had exited by itself, and that
	// was known.
	stopped := map[string]bool{}
	for _, call := range c.calls[before:] {
		stopped[call.Container] = true
	}
	settled := func() bool { return p.knowsEnds(t, want.Pod.UID, stopped) }

	p.node.Set(source, []node.Desired{want}, nil)
	timeout := enough + 2*time.Duration(c.removedAfter)*time.Millisecond
	if !p.within(t, timeout, func() bool { return seen() && settled() }) {
		t.Errorf("not all that the kubelet did before the removal was done within %s", timeout)
	}
	// The process started last needs time to set its traps, as it had when it
	// was recorded.
	var idle time.Duration
	if before > 0 {
		idle = time.Duration(c.removedAfter-c.calls[before-1].T) * time.Millisecond
		<-time.After(min(idle, time.Second))
	}
	p.node.Set(source, nil, nil)
	grace := time.Duration(*c.pod.Spec.TerminationGracePeriodSeconds) * time.Second
	if !p.within(t, enough+grace, func() bool { return len(p.node.Pods()) == 0 }) {
		t.Errorf("the pod did not end: %+v", p.node.Pods())
	}
	if disturbance = disturbed(c, before, idle, p.proxy.Calls()); disturbance != "" && !last {
		return disturbance
	}
	compareCalls(t, order.even(c.calls), order.even(p.calls()), p.mask(want.Pod.UID), p.facts.HugePageSizes)
	return ""
}

// disturbed returns how the machine made the calls of a run differ from the recording, ""
// if it did not: containerd broke off a stop, which podctl then repeats; the pod was
// removed so late that it was started again after the time at which the kubelet's had been
// removed; its preStop hook took more whole seconds of the grace period; or its containers
// were started so much slower that a back-off, which counts from the end of the container
// before, was over when the next one ended. before and idle are the calls before the
// removal, and the time between the last of them and the removal.
func disturbed(c podCase, before int, idle time.Duration, calls []record.Call) string {
	for _, call := range calls {
		if call.Method == "StopContainer" && call.Err != nil && strings.Contains(call.Err.Error(), "ttrpc: closed") {
			return "containerd broke off a stop: " + call.Err.Error()
		}
	}
	made := changesOf(calls)
	hooks := hooksOf(made)
	for container, seconds := range hooksOf(c.calls[before:]) {
		if took := hooks[container]; took > seconds {
			return fmt.Sprintf("the preStop hook of %s took %d s, the kubelet's %d s", container, took, seconds)
		}
	}
	recorded, started := startsOf(c.calls[:before]), startsOf(made)
	starts := len(recorded)
	if starts == 0 || len(started) <= starts {
		return ""
	}
	// The recording's last call is no earlier than its last start: podctl's pod ran longer.
	if late := started[starts] - started[starts-1]; late > idle {
		return fmt.Sprintf("a container was started %s after the last start, but the kubelet's pod was removed %s after its last call", late, idle)
	}
	if starts == 1 {
		return ""
	}
	pace := (recorded[starts-1] - recorded[0]) / time.Duration(starts-1)
	if took := (started[starts] - started[0]) / time.Duration(starts); took > pace+pace/4 {
		return fmt.Sprintf("containers were started every %s, by the kubelet every %s", took, pace)
	}
	return ""
}

// startsOf returns when containers were started.
func startsOf(calls []podCall) []time.Duration {
	var starts []time.Duration
	for _, c := range calls {
		if c.Method == "StartContainer" {
			starts = append(starts, time.Duration(c.T)*time.Millisecond)
		}
	}
	return starts
}

// hooksOf returns how many whole seconds the last hook of each container took before that
// was stopped: its grace period is that much shorter.
func hooksOf(calls []podCall) map[string]int {
	seconds, began := map[string]int{}, map[string]int{}
	for _, c := range calls {
		since, hook := began[c.Container]
		switch {
		case c.Method == "ExecSync" && !c.isProbe():
			began[c.Container] = c.T
		case c.Method == "StopContainer" && hook:
			seconds[c.Container] = (c.T - since) / 1000
		}
	}
	return seconds
}

// Only what comes from the machine is repeated.
func TestOnlyADisturbedRunIsRepeated(t *testing.T) {
	start := func(at time.Duration) record.Call {
		return record.Call{Method: "StartContainer", Start: time.Unix(1000, 0).Add(at)}
	}
	stop := func(err string) record.Call {
		return record.Call{Method: "StopContainer", Start: time.Unix(1000, 0), Err: errors.New(err)}
	}
	once := podCase{calls: []podCall{{T: 100, Method: "RunPodSandbox"}, {T: 200, Method: "StartContainer"}, {T: 9000, Method: "StopPodSandbox"}}, removedAfter: 5200}
	// The first two are started again at once, the third only after a back-off.
	thrice := podCase{calls: []podCall{
		{T: 100, Method: "RunPodSandbox"}, {T: 200, Method: "StartContainer"}, {T: 4200, Method: "StartContainer"}, {T: 8200, Method: "StartContainer"},
		{T: 23200, Method: "StopPodSandbox"},
	}, removedAfter: 23200}
	hooked := podCase{calls: []podCall{
		{T: 100, Method: "StartContainer"}, {T: 4002, Method: "ExecSync", Container: "c"}, {T: 5030, Method: "StopContainer", Container: "c"}, {T: 9000, Method: "StopPodSandbox"},
	}, removedAfter: 4001}
	encode := func(m proto.Message) []byte {
		b, err := proto.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	hook := func(took time.Duration) []record.Call {
		at := time.Unix(1000, 0)
		return []record.Call{
			{
				Method: "CreateContainer", Start: at,
				Request: encode(&runtimeapi.CreateContainerRequest{Config: &runtimeapi.ContainerConfig{Metadata: &runtimeapi.ContainerMetadata{Name: "c"}}}),
				Answer:  encode(&runtimeapi.CreateContainerResponse{ContainerId: "id"}),
			},
			{Method: "ExecSync", Start: at.Add(time.Second), Request: encode(&runtimeapi.ExecSyncRequest{ContainerId: "id"})},
			{Method: "StopContainer", Start: at.Add(time.Second + took), Request: encode(&runtimeapi.StopContainerRequest{ContainerId: "id"})},
		}
	}
	for _, test := range []struct {
		name  string
		of    podCase
		calls []record.Call
		want  bool
	}{
		{"as recorded", once, []record.Call{start(0)}, false},
		{"started again before the kubelet's pod was removed", once, []record.Call{start(0), start(4 * time.Second)}, false},
		{"started again afterwards", once, []record.Call{start(0), start(10 * time.Second)}, true},
		{"a stop was broken off", once, []record.Call{start(0), stop("rpc error: code = Unknown desc = ttrpc: closed: unknown")}, true},
		{"a stop failed", once, []record.Call{start(0), stop("not found")}, false},
		{"a hook took as long", hooked, hook(1900 * time.Millisecond), false},
		{"a hook took a second more", hooked, hook(2 * time.Second), true},
		{"never started", once, nil, false},
		{"not backed off", thrice, []record.Call{start(0), start(4 * time.Second), start(8 * time.Second), start(12 * time.Second)}, false},
		{"not backed off, and slower", thrice, []record.Call{start(0), start(5 * time.Second), start(9 * time.Second), start(14 * time.Second)}, false},
		{"the back-off was over", thrice, []record.Call{start(0), start(4 * time.Second), start(8 * time.Second), start(18 * time.Second)}, true},
	} {
		before := slices.IndexFunc(test.of.calls, func(call podCall) bool { return call.T >= test.of.removedAfter })
		idle := time.Duration(test.of.removedAfter-test.of.calls[before-1].T) * time.Millisecond
		if got := disturbed(test.of, before, idle, test.calls); (got != "") != test.want {
			t.Errorf("%s: %q", test.name, got)
		}
	}
}
