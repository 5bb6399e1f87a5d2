package node

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/podctl/podctl/internal/lab/sim"
	"github.com/podctl/podctl/internal/node/startgate"
)

// started are the pods in the order in which their containers started.
func (w *world) started() []string {
	var names []string
	for _, c := range w.calls("StartContainer") {
		names = append(names, strings.TrimSuffix(strings.TrimPrefix(c, "StartContainer default/"), "/c"))
	}
	return names
}

func manyPods(n int) []string {
	var all []string
	for i := range n {
		all = append(all, podYAML(fmt.Sprintf("web-%02d", i), "sleep 3600", "terminationGracePeriodSeconds: 2"))
	}
	return all
}

// A pod of a high priority is among those that start first, whatever its name.
func TestPodsStartByPriority(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.sim.Inject("method=RunPodSandbox delay=1s")
		pods := append(manyPods(40), podYAML("zz-urgent", "sleep 3600", "terminationGracePeriodSeconds: 2", "priority: 1000"))
		p := w.podctl("agent", pods...)
		p.until("web-39", "running", running)
		first := w.started()[:startgate.Options{}.Defaults().First]
		if !slices.Contains(first, "zz-urgent") {
			t.Errorf("%v started first", first)
		}
		p.drain()
		w.empty()
	})
}

// While one RunPodSandbox hangs, all other pods start; and the pods that hang
// never fill the window.
func TestHungSandboxesDoNotBlockStarts(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		for i := range 20 {
			w.sim.Inject(fmt.Sprintf("method=RunPodSandbox pod=web-%02d hang", i))
		}
		p := w.podctl("agent", manyPods(40)...)
		began := time.Now()
		for i := 20; i < 40; i++ {
			p.until(fmt.Sprintf("web-%02d", i), "running", running)
		}
		if took := time.Since(began); took > 8*time.Second { // virtual: until the turns count as hung, and the syncs
			t.Errorf("the others ran after %s", took)
		}
		p.end()
		if err := <-p.ran; err == nil {
			t.Error("the operations that hang were in flight, and the agent does not say so")
		}
		p.client.Close()
		if err := p.locks.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A pull may take minutes; pods whose images are there do not wait for it.
func TestPullsDoNotBlockStarts(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.sim.SetImage("slow:1", sim.ImageScript{Absent: true})
		w.sim.Inject("method=PullImage delay=10m")
		var pods []string
		for i := range 20 {
			pods = append(pods, strings.Replace(podYAML(fmt.Sprintf("aa-slow-%02d", i), "sleep 3600", "terminationGracePeriodSeconds: 2"), "busybox:1", "slow:1", 1))
		}
		p := w.podctl("agent", append(pods, manyPods(20)...)...)
		began := time.Now()
		p.until("web-19", "running", running)
		if took := time.Since(began); took > 3*time.Second { // virtual
			t.Errorf("the last pod ran after %s", took)
		}
		p.drain()
		w.empty()
	})
}
