package node

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/cri/sim"
	"github.com/podctl/podctl/internal/worker"
)

var (
	histories = flag.Int("histories", 6, "random histories of a node to play")
	seed      = flag.Uint64("seed", 0, "play the one history of this seed")
)

// names are the pods that may be asked for, in order; all fit on the node
// but for dns, which is critical and asked for on the way only.
var names = []string{"web", "job", "fixed", "conf", "dns"}

// versions are what may be asked for, by pod name.
var versions = map[string][]string{
	"conf": {conf("sleep 3600"), strings.Replace(fixUID("conf", conf("sleep 3601")), "fixed-1", "fixed-2", 1)},
	"dns":  {requesting("700m", podYAML("dns", "sleep 3600", criticalClass, "terminationGracePeriodSeconds: 2"))},
	"web": {
		requesting("500m", podYAML("web", "sleep 3603", "terminationGracePeriodSeconds: 3")),
		podYAML("web", "sleep 3601", "terminationGracePeriodSeconds: 3"),
		podYAML("web", "sleep 3602", "terminationGracePeriodSeconds: 1"),
		podYAML("web", `trap "exit 0" TERM; sleep 3600 & wait`),
	},
	"job": {
		strings.Replace(podYAML("job", "sleep 2; exit 0", job), "name: c", "name: once", 1),
		strings.Replace(podYAML("job", "exit 3", job), "name: c", "name: once", 1),
	},
	"fixed": {
		requesting("400m", fixUID("fixed", podYAML("fixed", "sleep 3600", "terminationGracePeriodSeconds: 2"))),
		fixUID("fixed", podYAML("fixed", "sleep 3601", "terminationGracePeriodSeconds: 2")),
		fixUID("fixed", podYAML("fixed", "sleep 1; exit 1", "restartPolicy: OnFailure")),
		fixUID("fixed", podYAML("fixed", "sleep 1; exit 0", job, "activeDeadlineSeconds: 30")),
	},
}

// TestRandomHistories plays what may happen to a node in any order: manifests
// come, change, go and come back, in part too, their objects change, pods are
// stopped, started and evicted by name or to make room, podctl is killed and
// started again, the runtime dies and comes back, calls and probes fail, hang,
// and lose their answers, pods that podctl did not create come and go with the UIDs of those
// that it runs. The judge watches every start, and that no call changes such a pod. In the end
// all that is asked for is there, and after Drain nothing is left.
func TestRandomHistories(t *testing.T) {
	first, count := uint64(1), uint64(*histories)
	if *seed != 0 {
		first, count = *seed, 1
	}
	for s := first; s < first+count; s++ {
		t.Run(fmt.Sprintf("seed=%d", s), func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) { newHistory(w, s).play() })
		})
	}
}

// history is one random history.
type history struct {
	*world
	*rand.Rand
	podctl *podctl
	rival  *podctl // another one beside it, nil if there is none
	// strangers are the foreign pods that are there.
	strangers []*foreignPod
	born      int
	down      bool
	undo      []func()
	// orders are those in flight.
	orders sync.WaitGroup
}

func newHistory(w *world, seed uint64) *history {
	w.watch = newJudge(w)
	w.allocatable = quantities("cpu", "1", "memory", "1Gi", "pods", "10")
	return &history{world: w, Rand: rand.New(rand.NewPCG(seed, 1))}
}

func (h *history) play() {
	h.start()
	for range 10 + h.IntN(30) {
		h.step()
		if h.t.Failed() {
			break
		}
	}
	h.calm()
	if h.rival != nil {
		h.beside()
	}
	h.strangersGo() // a desired pod waits for the end of one of its name or UID
	// What was rejected is asked for again, and every name: its leftovers have to
	// go.
	for _, ask := range [][]string{nil, {h.version("dns")}, nil} {
		h.podctl.want(ask...)
		time.Sleep(time.Minute)
	}
	var all []string
	for _, name := range names[:4] {
		all = append(all, h.version(name))
	}
	h.podctl.want(all...)
	h.converges(all)
	h.say("drain")
	h.podctl.drain()
	h.orders.Wait()
	h.empty()
}

func (h *history) step() {
	switch h.IntN(20) {
	case 0, 1, 2:
		h.ask()
	case 3:
		h.kill()
		h.start()
	case 4:
		h.runtime()
	case 5, 6, 7:
		h.fault()
	case 8:
		h.sandboxDies()
	case 9:
		h.beside()
	case 10, 11, 12:
		h.order()
	case 13, 14:
		h.stranger()
	}
	pause := []time.Duration{0, time.Millisecond, 100 * time.Millisecond, time.Second, 5 * time.Second, 20 * time.Second}[h.IntN(6)]
	h.say("sleep %s", pause)
	time.Sleep(pause)
	for _, p := range []*podctl{h.podctl, h.rival} {
		if p != nil {
			for _, wrong := range p.books() {
				h.t.Error(wrong)
			}
		}
	}
}

func (h *history) say(format string, args ...any) {
	h.t.Logf("%s "+format, append([]any{time.Now().Format("04:05.000")}, args...)...)
}

func (h *history) version(name string) string {
	return versions[name][h.IntN(len(versions[name]))]
}

// some is a random choice of pods, of each a random version.
func (h *history) some() []string {
	var manifests []string
	for _, name := range names {
		if h.IntN(3) > 0 {
			n := h.IntN(len(versions[name]))
			h.say("want %s version %d", name, n)
			manifests = append(manifests, versions[name][n])
		}
	}
	return manifests
}

func (h *history) ask() {
	pods, objects := desire(h.t, h.some()...), h.settings()
	if h.IntN(4) == 0 {
		h.say("ask in part")
		h.podctl.SetPartly(testSource, pods, objects)
		return
	}
	h.say("ask")
	h.podctl.Set(testSource, pods, objects)
}

func (h *history) start() {
	if h.down {
		h.runtime() // a podctl starts where a runtime answers only
	}
	h.calm()
	h.born++
	h.say("podctl %d", h.born)
	h.podctl = h.world.podctl(fmt.Sprintf("run-%d", h.born), h.some()...)
}

func (h *history) kill() {
	h.say("kill")
	if h.IntN(2) == 0 {
		h.podctl.client.Close() // so that it gets nothing done any more
	} else {
		h.calm() // so that what it is about comes to its end
	}
	h.podctl.kill()
}

// beside lets another podctl come, or go.
func (h *history) beside() {
	switch {
	case h.rival == nil && !h.down:
		h.calm()
		h.born++
		h.say("podctl %d beside", h.born)
		h.rival = h.world.podctl(fmt.Sprintf("run-%d", h.born), h.some()...)
		return
	case h.rival == nil:
		return
	case h.IntN(2) == 0:
		h.calm()
		h.say("the other podctl drains")
		h.rival.drain()
	default:
		h.say("the other podctl is killed")
		h.rival.client.Close()
		h.rival.kill()
	}
	h.rival = nil
}

// sandboxDies kills the pause process of some sandbox.
func (h *history) sandboxDies() {
	if all := h.watch.(*judge).list(); len(all) > 0 {
		s := all[h.IntN(len(all))]
		h.say("sandbox dies: %s", describe(s))
		h.sim.KillSandbox(s.Id)
	}
}

func (h *history) runtime() {
	if h.down = !h.down; h.down {
		h.say("runtime dies")
		h.sim.Crash()
		return
	}
	h.say("runtime is back")
	h.sim.Restart()
}

func (h *history) fault() {
	methods := []string{
		"RunPodSandbox", "StopPodSandbox", "RemovePodSandbox", "CreateContainer", "StartContainer", "StopContainer",
		"RemoveContainer", "ExecSync", "ListPodSandbox", "ListContainers", "PodSandboxStatus", "ContainerStatus", "ImageStatus", "Status",
	}
	f := sim.Fault{Method: methods[h.IntN(len(methods))], Skip: h.IntN(3), Times: 1 + h.IntN(3), After: h.IntN(2) == 0}
	switch h.IntN(3) {
	case 0:
		f.Err = status.Error(codes.Unknown, "no luck")
	case 1:
		f.Hang = true
	case 2:
		f.Delay = time.Duration(h.IntN(3000)) * time.Millisecond
	}
	h.say("fault %+v", f)
	h.undo = append(h.undo, h.sim.Inject(f))
}

// calm ends all faults and brings the runtime back.
func (h *history) calm() {
	for _, undo := range h.undo {
		undo()
	}
	h.undo = nil
	if h.down {
		h.runtime()
	}
}

// converges waits until the pods are what is asked for.
func (h *history) converges(manifests []string) {
	h.say("converge")
	want := desire(h.t, manifests...)
	for range 3600 {
		settled := 0
		infos := h.podctl.Pods()
		for _, d := range want {
			for _, i := range infos {
				if i.Pod.UID == d.Pod.UID && i.Desired && len(infos) == len(want) && as(i, d) {
					settled++
				}
			}
		}
		if settled == len(want) {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	for _, i := range h.podctl.Pods() {
		h.t.Errorf("not as asked for: %s %.8s %q %s %s desired %v again %v rejected %v op %s since %s error %q", i.Pod.Name, i.Pod.UID,
			i.Pod.Spec.Containers[0].Command[2], i.WorkerPhase, i.Status.Phase, i.Desired, i.Again, i.Rejected, i.Op, i.OpSince, i.LastError)
	}
}

// as reports whether a pod does what its manifest says.
func as(i Info, d Desired) bool {
	if i.Pod.Spec.Containers[0].Command[2] != d.Pod.Spec.Containers[0].Command[2] {
		return false
	}
	switch d.Pod.Spec.RestartPolicy {
	case v1.RestartPolicyNever:
		return i.WorkerPhase == worker.Finished
	case v1.RestartPolicyOnFailure:
		return i.WorkerPhase == worker.Syncing
	default:
		return running(i)
	}
}
