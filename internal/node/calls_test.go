package node

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/lab/sim"
	"github.com/podctl/podctl/testkit/testutil"
)

var update = flag.Bool("update", false, "rewrite testdata/calls")

// asContainerd gives the calls about as much time as containerd takes for them, and
// the PLEG a clock that moves whenever it is read, as clocks do.
func (w *world) asContainerd() {
	for method, takes := range map[string]time.Duration{
		"RunPodSandbox": 300 * time.Millisecond, "CreateContainer": 40 * time.Millisecond, "StartContainer": 60 * time.Millisecond,
		"StopPodSandbox": 50 * time.Millisecond, "RemoveContainer": 20 * time.Millisecond, "RemovePodSandbox": 20 * time.Millisecond,
	} {
		w.sim.Inject("method=" + method + " delay=" + takes.String())
	}
	w.sim.Inject("method=* delay=1ms")
	w.plegNow = func() time.Time {
		time.Sleep(time.Microsecond)
		return time.Now()
	}
}

// callsSince are the calls that began since, in the order of their begin and then of
// their names, since some are made at once. Lists of everything, which are made by
// period for all pods together, are left out unless all is set.
func (w *world) callsSince(since time.Time, all bool) []string {
	calls := slices.DeleteFunc(w.sim.Calls(), func(c sim.Call) bool { return c.At.Before(since) || !all && listsAll(c) })
	slices.SortStableFunc(calls, func(a, b sim.Call) int {
		if d := a.At.Sub(b.At); d.Abs() > 100*time.Microsecond {
			return int(d)
		}
		return strings.Compare(a.String(), b.String())
	})
	var texts []string
	for _, c := range calls {
		texts = append(texts, c.String())
	}
	return texts
}

// listsAll reports whether the call is a list of everything.
func listsAll(c sim.Call) bool {
	switch r := c.Request.(type) {
	case *runtimeapi.ListPodSandboxRequest:
		return r.Filter == nil
	case *runtimeapi.ListContainersRequest:
		return r.Filter == nil
	}
	return false
}

// TestCRICallsOfOnePod records every call that one pod costs, from its start to
// ready, to its stop, until it is removed, and what podctl asks once. A call more is a
// cost of every pod.
func TestCRICallsOfOnePod(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.asContainerd()
		var text strings.Builder
		section := func(title string, calls []string) {
			fmt.Fprintf(&text, "-- %s: %d\n%s\n", title, len(calls), strings.Join(calls, "\n"))
		}
		began := time.Now()
		p := w.podctl("run-a")
		time.Sleep(500 * time.Millisecond)
		section("podctl begins", w.callsSince(began, true))

		began = time.Now()
		p.want(podYAML("web", "sleep 3600", "terminationGracePeriodSeconds: 5"))
		p.until("web", "running", running)
		time.Sleep(time.Second)
		section("the pod starts", w.callsSince(began, false))

		began = time.Now()
		p.want()
		for len(p.Pods()) > 0 {
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(time.Second)
		section("the pod is stopped, which takes 5 s, and removed", w.callsSince(began, false))

		began = time.Now()
		p.want(podYAML("job", "exit 0", job))
		p.until("job", "finished", finished)
		p.want()
		for len(p.Pods()) > 0 {
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(time.Second)
		section("a pod that ends at once, all told", w.callsSince(began, false))
		p.drain()
		w.empty()
		testutil.Golden(t, *update, "testdata/calls/life.txt", text.String())
	})
}

// Of 20 pods at once none costs more than one alone, however long all of them take to
// start: full relists meanwhile read no status twice.
func TestCRICallsOfTwentyPods(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.asContainerd()
		began := time.Now()
		p := w.podctl("run-a", manyPods(20)...)
		for i := range 20 {
			p.until(fmt.Sprintf("web-%02d", i), "running", running)
		}
		time.Sleep(time.Second)
		p.want()
		for len(p.Pods()) > 0 {
			time.Sleep(100 * time.Millisecond)
		}
		calls := map[string]int{}
		for _, c := range w.callsSince(began, false) {
			method, _, _ := strings.Cut(c, " ")
			calls[method]++
		}
		var text strings.Builder
		for _, method := range slices.Sorted(maps.Keys(calls)) {
			fmt.Fprintf(&text, "%s %d\n", method, calls[method])
		}
		testutil.Golden(t, *update, "testdata/calls/twenty.txt", text.String())
		p.drain()
		w.empty()
	})
}
