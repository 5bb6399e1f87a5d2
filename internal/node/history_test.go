package node

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

// history is what happens to a node: acts, one after the other, by which manifests come, change and
// go, podctl is killed, the runtime dies, calls fail, the clock is set. An act is a line of text
// (acts_test.go), so that any part of a history is one, too.
type history struct {
	*world
	judge       *judge
	podctl      *podctl // nil while there is none
	beside      *podctl // another one beside it, nil if there is none
	foreignPods []*foreignPod
	// renamed: each podctl has a name of its own, as those of podctl run have.
	renamed bool
	born    int
	// down reports whether the runtime has crashed.
	down bool
	// silence is how long a desired pod may say nothing; 0 is the usual time.
	silence time.Duration
	// toldSuccess: the runtime has said of containers that failed that they ended with exit code 0, which
	// a kubelet believes: a pod that is to run until it succeeds may have ended.
	toldSuccess bool
	// undo ends what is wrong.
	undo []func()
	// orders are those in flight.
	orders sync.WaitGroup
}

// playHistory plays the acts in a world of their own, and what follows from any: in the
// end nothing is wrong any more, so every pod that is asked for runs, and after Drain
// nothing is left.
func playHistory(t *testing.T, acts []string) outcome {
	root, err := os.MkdirTemp("", "history")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(root)
	var r *recorder
	synctest.Test(t, func(t *testing.T) {
		r = &recorder{TB: t, root: root}
		w := newWorld(r, root)
		h := &history{world: w, judge: newJudge(w)}
		w.watch, w.told = h.judge, h.say
		w.allocatable = quantities("cpu", "1", "memory", "1Gi", "pods", "10")
		ended := make(chan struct{})
		go func() { // which may end at once
			defer close(ended)
			h.play(acts)
		}()
		<-ended
		h.end()
		w.sim.Close()
	})
	return r.out
}

func (h *history) play(acts []string) {
	for _, act := range acts {
		h.say("-- %s", act)
		h.act(act)
		synctest.Wait()
		h.checkPods(h.podctl)
		h.checkPods(h.beside)
		if h.t.Failed() {
			return
		}
	}
	h.calm()
	if h.beside != nil {
		h.drain(&h.beside)
	}
	h.removeAllForeign() // a desired pod waits for the end of one of its name or UID
	// What was rejected is asked for again, and every name: its leftovers have to go.
	for _, ask := range [][]string{nil, {"dns/0"}, nil} {
		h.want(false, nil, ask...)
		time.Sleep(time.Minute)
	}
	var all []string
	for _, name := range podNames[:len(podNames)-1] {
		all = append(all, name+"/0")
	}
	h.want(false, nil, all...)
	if h.converge(h.podctl); h.t.Failed() {
		return
	}
	h.drain(&h.podctl)
	h.orders.Wait()
	h.empty()
}

// end ends what a history that broke off has left running.
func (h *history) end() {
	h.calm()
	for _, p := range []*podctl{h.podctl, h.beside} {
		if p != nil {
			p.client.Close()
			h.exit(p)
		}
	}
	h.orders.Wait()
}

func (h *history) say(format string, args ...any) { h.t.Logf(format, args...) }

// want sets what is desired of the podctl, and starts one if there is none.
func (h *history) want(partly bool, objects *pod.Objects, refs ...string) {
	pods := h.desire(refs)
	if h.podctl == nil {
		name := "agent"
		if h.renamed {
			name = h.newName()
		}
		h.podctl = h.launch(name, pods, objects)
		return
	}
	h.podctl.ask(partly, pods, objects)
}

// ask sets what is desired, in part or all of it.
func (p *podctl) ask(partly bool, pods []Desired, objects *pod.Objects) {
	p.wanted = pods
	if !partly {
		p.Set(testSource, pods, objects)
		return
	}
	p.SetPartly(testSource, pods, objects)
}

func (h *history) desire(refs []string) []Desired {
	var manifests []string
	for _, ref := range refs {
		manifests = append(manifests, version(h.t, ref))
	}
	pods := desire(h.t, manifests...)
	h.judge.ask(pods)
	return pods
}

func (h *history) newName() string {
	h.born++
	return fmt.Sprintf("run-%d", h.born)
}

// launch starts a podctl. It starts where a runtime answers only.
func (h *history) launch(instance string, pods []Desired, objects *pod.Objects) *podctl {
	h.calm()
	return h.start(instance, func(p *podctl) {
		p.silent, p.stopping = map[types.UID]time.Time{}, map[types.UID]time.Time{}
		p.ask(false, pods, objects)
	})
}

// exit ends the process of a podctl.
func (h *history) exit(p *podctl) {
	h.bounded("the exit of podctl", exitLimit, p.kill)
}

// kill kills a podctl: in the middle of its calls, or of none.
func (h *history) kill(p **podctl, hard bool) {
	if *p == nil {
		return
	}
	if hard {
		(*p).client.Close() // so that it gets nothing done any more
	} else {
		h.calm() // so that its calls come to their end
	}
	h.exit(*p)
	for _, i := range (*p).Pods() { // also what its last calls led to
		if i.Terminating() || !i.StopRequested.IsZero() || i.Again || !i.Desired {
			h.judge.noteInterrupted(i.Pod.UID)
		}
	}
	*p = nil
}

// drain has a podctl end all its pods, and exit.
func (h *history) drain(p **podctl) {
	if *p == nil {
		return
	}
	h.calm()
	ctx, cancel := context.WithTimeout(h.t.Context(), drainLimit)
	defer cancel()
	if err := (*p).Drain(ctx, nil); err != nil {
		violate(h.t, ordersEnd, "drain: %v; left: %s", err, showAll((*p).Pods()))
	}
	h.exit(*p)
	*p = nil
}

func showAll(infos []Info) string {
	var all []string
	for _, i := range infos {
		all = append(all, show(i))
	}
	return strings.Join(all, "; ")
}

// onCalm registers a function that ends a fault. The runtime counts as faulty until calm calls it.
func (h *history) onCalm(undo func()) {
	h.judge.setCalm(false)
	h.undo = append(h.undo, undo)
}

// calm ends all that is wrong and brings the runtime back.
func (h *history) calm() {
	for _, undo := range slices.Backward(h.undo) {
		undo()
	}
	h.undo = nil
	h.restartRuntime()
	h.judge.setCalm(true)
}

func (h *history) crashRuntime() {
	if !h.down {
		h.down = true
		h.onCalm(func() {})
		h.sim.Crash()
	}
}

func (h *history) restartRuntime() {
	if h.down {
		h.down = false
		h.sim.Restart()
	}
}

func (h *history) fault(rule string) { h.onCalm(h.sim.Inject(rule)) }

// settings are objects beside the pods; 0 is none.
func settings(n int) *pod.Objects {
	if n == 0 {
		return nil
	}
	m := &v1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "settings"},
		Data:       map[string]string{"a": strings.Repeat("x", n)},
	}
	return &pod.Objects{ConfigMaps: map[types.NamespacedName]*v1.ConfigMap{{Namespace: "default", Name: "settings"}: m}}
}
