package oracle

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/desired/manifest"
	"github.com/podctl/podctl/internal/node"
	"github.com/podctl/podctl/test/live"
)

// noteTakes is how long, in milliseconds, after the removal of a manifest its time may
// have been noted: what stops the pod within it may follow from the removal.
const noteTakes = 50

// TestPodsLive runs every recorded pod on a real containerd as the kubelet
// did, and compares all calls that change something with the kubelet's. The
// pod is removed once the last call has been seen that the kubelet made before
// its removal. That nothing happens too early in a time in which nothing
// should happen is not for this test: podsync replays the recordings in
// virtual time.
//
// Pods that restart, back off or have hooks depend on the pace of the machine, and
// are not in hack/smoke.
func TestPodsLive(t *testing.T) {
	cases := readPodCases(t)
	live.One(t, func(t *testing.T, rt *live.Instance) {
		h := newHost(t, rt, recordingNode(cases))
		longestFirst := slices.SortedFunc(maps.Keys(cases), func(a, b string) int {
			return cmp.Or(cmp.Compare(cases[b].removedAfter, cases[a].removedAfter), cmp.Compare(a, b))
		})
		for _, name := range longestFirst {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				want := loadRecorded(t, cases[name].dir)
				removesHostPaths(t, want.Pod)
				replay(t, h.podctl(t, name), cases[name], want)
			})
		}
	})
}

// TestRecordedPodsLoad needs no runtime.
func TestRecordedPodsLoad(t *testing.T) {
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

// replay runs the pod, removes it when the recording did, and compares.
func replay(t *testing.T, p *podctl, c podCase, want node.Desired) {
	before := slices.IndexFunc(c.calls, func(call podCall) bool {
		return call.T >= c.removedAfter || strings.HasPrefix(call.Method, "Stop") && call.T >= c.removedAfter-noteTakes
	})
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
	if !p.within(t, live.Timeout, func() bool { return seen() && settled() }) {
		t.Errorf("not all that the kubelet did before the removal was done within %s", live.Timeout)
	}
	// The process started last needs time to set its traps, as it had when it
	// was recorded.
	if before > 0 {
		idle := time.Duration(c.removedAfter-c.calls[before-1].T) * time.Millisecond
		<-time.After(min(idle, time.Second))
	}
	p.node.Set(source, nil, nil)
	if !p.within(t, live.Timeout, func() bool { return len(p.node.Pods()) == 0 }) {
		t.Errorf("the pod did not end: %+v", p.node.Pods())
	}
	compareCalls(t, order.even(c.calls), order.even(p.calls()), p.mask(want.Pod.UID), p.facts.HugePageSizes)
}
