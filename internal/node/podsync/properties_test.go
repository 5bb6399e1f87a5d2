package podsync_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/podctl/podctl/internal/node/podsync"
	"github.com/podctl/podctl/internal/pod"
)

func drawPod(t *rapid.T) *v1.Pod {
	policy := rapid.SampledFrom([]v1.RestartPolicy{v1.RestartPolicyAlways, v1.RestartPolicyOnFailure, v1.RestartPolicyNever}).Draw(t, "policy")
	p := podOf(policy)
	for i := range rapid.IntRange(1, 3).Draw(t, "containers") {
		p.Spec.Containers = append(p.Spec.Containers, container(fmt.Sprintf("c%d", i)))
	}
	for i := range rapid.IntRange(0, 3).Draw(t, "init") {
		c := container(fmt.Sprintf("i%d", i))
		if rapid.Bool().Draw(t, "sidecar") {
			c = sidecar(c.Name)
		}
		p.Spec.InitContainers = append(p.Spec.InitContainers, c)
	}
	return defaulted(p)
}

// world is the runtime as a plan changes it, and as time does.
type world struct {
	st   *pod.Status
	next int
	now  time.Time
}

func drawWorld(t *rapid.T, p *v1.Pod) *world {
	w := &world{st: &pod.Status{UID: p.UID}, now: t0.Add(time.Hour)}
	for range rapid.IntRange(0, 2).Draw(t, "sandboxes") {
		w.sandbox(uint32(w.next))
		if rapid.Bool().Draw(t, "dead") {
			w.st.Sandboxes[0].State = pod.Exited
		}
	}
	for _, list := range [][]v1.Container{p.Spec.InitContainers, p.Spec.Containers} {
		for i := range list {
			for range rapid.IntRange(0, 2).Draw(t, "runs") {
				w.container(list[i].Name)
				w.draw(t, w.st.Containers[0])
			}
			// Nothing but the newest run can be alive.
			for j, cs := range w.st.Containers {
				if j > 0 && cs.Name == list[i].Name && w.st.Containers[0].Name == cs.Name {
					cs.State, cs.FinishedAt = pod.Exited, w.now
				}
			}
		}
	}
	for _, cs := range w.st.Containers {
		if len(w.st.Sandboxes) == 0 && cs.State == pod.Unknown {
			cs.State, cs.FinishedAt = pod.Exited, w.now // nothing runs without a sandbox
		}
	}
	return w
}

func (w *world) draw(t *rapid.T, cs *pod.ContainerStatus) {
	cs.State = rapid.SampledFrom([]pod.State{pod.Unknown, pod.Created, pod.Running, pod.Exited, pod.Exited}).Draw(t, "state")
	if cs.State == pod.Exited {
		cs.FinishedAt, cs.ExitCode = w.now, rapid.Int32Range(0, 1).Draw(t, "code")
	}
}

func (w *world) sandbox(attempt uint32) {
	w.next++
	w.st.Sandboxes = append([]*pod.SandboxStatus{{
		ID: fmt.Sprintf("s%d", w.next), Attempt: attempt, State: pod.Running, IPs: []string{"10.0.0.1"}, CreatedAt: w.now,
	}}, w.st.Sandboxes...)
}

func (w *world) container(name string) {
	w.next++
	w.st.Containers = append([]*pod.ContainerStatus{{
		ID: fmt.Sprintf("%s-%d", name, w.next), Name: name, State: pod.Running, CreatedAt: w.now, StartedAt: w.now,
	}}, w.st.Containers...)
}

// carryOut does what the plan says; every start and stop succeeds.
func (w *world) carryOut(t *rapid.T, plan podsync.Plan) {
	stopped := map[string]bool{}
	for _, k := range plan.Kill {
		stopped[k.ID] = true
	}
	for _, cs := range w.st.Containers {
		if (plan.KillPod || stopped[cs.ID]) && cs.State != pod.Exited && cs.State != pod.Created {
			cs.State, cs.ExitCode, cs.FinishedAt = pod.Exited, 137, w.now
		}
	}
	if plan.KillPod {
		for _, s := range w.st.Sandboxes {
			s.State = pod.Exited
		}
	}
	for _, id := range plan.Remove {
		for i, cs := range w.st.Containers {
			if cs.ID == id {
				if cs.State == pod.Running {
					t.Fatalf("container %s is removed while it runs", id)
				}
				w.st.Containers = append(w.st.Containers[:i:i], w.st.Containers[i+1:]...)
				break
			}
		}
	}
	if plan.CreateSandbox {
		w.sandbox(plan.Attempt)
	}
	started := map[string]bool{}
	for _, s := range append(append([]podsync.Start{}, plan.Init...), plan.Containers...) {
		name := s.Container.Name
		if started[name] {
			t.Fatalf("container %s is started twice", name)
		}
		started[name] = true
		if last := w.st.Container(name); last != nil && (last.State == pod.Running || last.State == pod.Unknown) {
			t.Fatalf("container %s is started while it runs, or may", name)
		}
		w.container(name)
	}
}

// exitInit lets init containers succeed, so that the pod comes on.
func (w *world) exitInit(p *v1.Pod) {
	for i := range p.Spec.InitContainers {
		c := &p.Spec.InitContainers[i]
		if last := w.st.Container(c.Name); last != nil && last.State == pod.Running && !pod.IsSidecar(c) {
			last.State, last.ExitCode, last.FinishedAt = pod.Exited, 0, w.now
		}
	}
}

// TestActionsConvergeWithoutDuplicates carries plans out from any state
// of the runtime: no container is ever started while it runs, no running one
// removed, sandboxes never share an attempt, and soon nothing is left to do
// but to go on as it is, or to end.
func TestActionsConvergeWithoutDuplicates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPod(t)
		w := drawWorld(t, p)
		for range 20 {
			plan := podsync.Actions(p, w.st, podsync.ActionInput{Now: w.now})
			if plan.Empty() {
				if !settled(p, w.st) {
					w.exitInit(p)
					continue
				}
				return
			}
			// As in the kubelet's plan, sidecars of unknown state are named beside the pod.
			more := slices.ContainsFunc(plan.Kill, func(k podsync.Kill) bool { return k.Reason != podsync.KillUnknown || !strings.HasPrefix(k.Name, "i") })
			if plan.KillPod && (more || len(plan.Init)+len(plan.Containers) > 0) && !plan.CreateSandbox {
				t.Fatalf("plan %s kills the pod and more", planText(plan))
			}
			w.carryOut(t, plan)
			attempts := map[uint32]bool{}
			for _, s := range w.st.Sandboxes {
				if attempts[s.Attempt] {
					t.Fatalf("two sandboxes have attempt %d", s.Attempt)
				}
				attempts[s.Attempt] = true
			}
			if plan.KillPod && !plan.CreateSandbox {
				return // the pod has ended
			}
		}
		t.Fatalf("still something to do: %s", planText(podsync.Actions(p, w.st, podsync.ActionInput{Now: w.now})))
	})
}

// settled: no init container is being waited for.
func settled(p *v1.Pod, st *pod.Status) bool {
	for i := range p.Spec.InitContainers {
		c := &p.Spec.InitContainers[i]
		if last := st.Container(c.Name); last != nil && last.State == pod.Running && !pod.IsSidecar(c) {
			return false
		}
	}
	return true
}

// TestActionsDoesNotModifyInput: Actions is pure, so that the same
// question has the same answer.
func TestActionsDoesNotModifyInput(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPod(t)
		w := drawWorld(t, p)
		first := planText(podsync.Actions(p, w.st, podsync.ActionInput{Now: w.now}))
		if again := planText(podsync.Actions(p, w.st, podsync.ActionInput{Now: w.now})); again != first {
			t.Fatalf("asked again the plan is %q; was %q", again, first)
		}
	})
}
