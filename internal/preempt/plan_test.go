package preempt

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
)

// TestPlanEqualsPlainKubelet compares victims and what is missing with the
// plain implementation.
func TestPlanEqualsPlainKubelet(t *testing.T) {
	for seed := range uint64(5_000) {
		d := newDice(seed)
		pods, need := d.pods(d.IntN(40)), d.need()
		r := Plan(critical(), pods, need)
		victims, missing := plainKubelet(critical(), pods, need)
		if !slices.Equal(r.Victims, victims) || !slices.Equal(r.Missing, missing) {
			t.Fatalf("seed %d, need %v: victims %v, missing %v; plainly %v, %v", seed, need, names(r.Victims), r.Missing, names(victims), missing)
		}
	}
}

// TestPlanKeepsItsPromises checks what must hold of every plan.
func TestPlanKeepsItsPromises(t *testing.T) {
	for seed := range uint64(3_000) {
		d := newDice(seed)
		pods, need := d.pods(d.IntN(25)), d.need()
		preemptor := critical()
		r := Plan(preemptor, pods, need)
		fail := func(format string, args ...any) {
			t.Helper()
			t.Errorf("seed %d: "+format, append([]any{seed}, args...)...)
		}
		if len(r.Verdicts) != len(pods) {
			fail("%d verdicts on %d pods", len(r.Verdicts), len(pods))
		}
		if (r.Err() != nil) != (len(r.Victims) == 0) {
			fail("error %v with victims %v", r.Err(), names(r.Victims))
		}
		for i, v := range r.Verdicts {
			if victim := i < len(r.Victims); victim != (v.Reason == Victim) || victim && (v.Kill != i+1 || v.Pod != refTo(r.Victims[i])) {
				fail("verdict %d is %+v", i, v)
			}
			if r.Why(v) == "" {
				fail("no word on %+v", v)
			}
		}
		if len(r.Victims) == 0 {
			continue
		}
		if left := lessThese(need, r.Victims); len(left) > 0 {
			fail("%v is left", left)
		}
		for _, p := range r.Victims {
			if !mayPreempt(preemptor, p) {
				fail("%s must not be a victim", p.Name)
			}
		}
	}
}

// TestGreedyIsNotMinimal is the example of docs/preemption.md.
func TestGreedyIsNotMinimal(t *testing.T) {
	pods := []*v1.Pod{app("both", "cpu=6 memory=6"), app("cpu", "cpu=10"), app("memory", "memory=10")}
	r := Plan(critical(), pods, []Amount{{v1.ResourceCPU, 10_000}, {v1.ResourceMemory, 10}})
	if got, want := names(r.Victims), []string{"default/both", "default/cpu", "default/memory"}; !slices.Equal(got, want) {
		t.Errorf("victims %v, want %v", got, want)
	}
}

func TestClassesAreLookedAtDearestFirstAndKilledCheapestFirst(t *testing.T) {
	cheap, middle, dear := app("cheap", ""), app("middle", "cpu=1"), limited(app("dear", "cpu=2 memory=1"))
	spare := limited(app("spare", "cpu=3 memory=1"))
	pods := []*v1.Pod{dear, spare, middle, cheap}
	r := Plan(critical(), pods, []Amount{{v1.ResourceCPU, 3_000}, {v1.ResourcePods, 3}})
	if got, want := names(r.Victims), []string{"default/cheap", "default/middle", "default/dear"}; !slices.Equal(got, want) {
		t.Errorf("victims %v, want %v", got, want)
	}
}

func TestOfEqualPodsTheLaterIsTakenAndTheLastMovesUp(t *testing.T) {
	pods := []*v1.Pod{app("a", "cpu=1"), app("b", "cpu=1"), app("big", "cpu=2"), app("c", "cpu=1"), app("d", "cpu=1")}
	r := Plan(critical(), pods, []Amount{{v1.ResourceCPU, 5_000}})
	// big goes first and d takes its place, before c.
	if got, want := names(r.Victims), []string{"default/big", "default/c", "default/d", "default/b"}; !slices.Equal(got, want) {
		t.Errorf("victims %v, want %v", got, want)
	}
}

func TestEveryPodHasAReason(t *testing.T) {
	static := with(app("static", "cpu=1"), func(p *v1.Pod) { p.Annotations = map[string]string{"kubernetes.io/config.source": "file"} })
	static.Spec.Priority = nil
	pods := []*v1.Pod{
		static,
		ranked(2_000_001_000, app("higher", "cpu=1")), ranked(2_000_000_500, app("equal", "cpu=1")),
		ranked(2_000_000_000, app("lower", "")),
		with(app("odd", "cpu=1"), func(p *v1.Pod) { p.Status.QOSClass = "Odd" }),
		app("idle", ""),
		app("twin", "cpu=1"), app("near", "cpu=1"), app("far", "cpu=100m"),
		limited(app("dear", "cpu=4 memory=1")),
	}
	reasons := func(r *Result) map[string]string {
		all := map[string]string{}
		for _, v := range r.Verdicts {
			all[v.Pod.Name] = string(v.Reason) + ": " + r.Why(v)
		}
		return all
	}
	constant := map[string]string{
		"static": "Critical: critical", "equal": "Critical: critical",
		"higher": "HigherPriority: critical, of higher priority than kube/dns",
		"odd":    `UnknownClass: QoS class "Odd" is unknown`,
	}
	for _, c := range []struct {
		name      string
		preemptor *v1.Pod
		need      []Amount
		constant  bool
		want      map[string]string
	}{
		{"a plan", critical(), []Amount{{v1.ResourceCPU, 500}}, true, map[string]string{
			"near": "Victim: frees the most that a Burstable pod can of what is short",
			"far":  "NotNeeded: not needed: the victims free enough", "twin": "EqualToVictim: frees the same as a victim: the order of the kubelet's list decides",
			"dear": "ClassNotReached: no Guaranteed pod is needed",
			"idle": "FreesNothing: frees nothing that is short", "lower": "FreesNothing: frees nothing that is short",
		}},
		{"nothing short", critical(), nil, true, map[string]string{
			"near": "NothingShort: nothing is short", "twin": "NothingShort: nothing is short", "far": "NothingShort: nothing is short", "dear": "NothingShort: nothing is short",
			"idle": "NothingShort: nothing is short", "lower": "NothingShort: nothing is short",
		}},
		{"too much", critical(), []Amount{{v1.ResourceCPU, 9_000}}, true, map[string]string{
			"near": "NotEnough: no set of pods would be enough", "twin": "NotEnough: no set of pods would be enough", "far": "NotEnough: no set of pods would be enough",
			"dear": "NotEnough: no set of pods would be enough", "idle": "NotEnough: no set of pods would be enough", "lower": "NotEnough: no set of pods would be enough",
		}},
		{"not critical", app("plain", ""), []Amount{{v1.ResourceCPU, 500}}, false, func() map[string]string {
			all := map[string]string{}
			for _, p := range pods {
				all[p.Name] = "NotPreempting: default/plain is not critical"
			}
			return all
		}()},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.constant {
				maps.Copy(c.want, constant)
			}
			if diff := cmp.Diff(c.want, reasons(Plan(c.preemptor, pods, c.need))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTheMostEndangeredComesFirst(t *testing.T) {
	pods := []*v1.Pod{
		ranked(2_000_001_000, app("critical", "cpu=1")), limited(app("dear", "cpu=4 memory=1")), app("stateful", "memory=1"), app("idle", ""),
		app("far", "cpu=100m"), app("nearer", "cpu=300m"), app("near", "cpu=1"),
	}
	var order []string
	for _, v := range Plan(critical(), pods, []Amount{{v1.ResourceCPU, 500}}).Verdicts {
		order = append(order, v.Pod.Name)
	}
	if want := []string{"near", "far", "nearer", "dear", "idle", "stateful", "critical"}; !slices.Equal(order, want) {
		t.Errorf("%v, want %v", order, want)
	}
}

func TestALowerCriticalPodIsPreempted(t *testing.T) {
	r := Plan(ranked(2_000_001_000, critical()), []*v1.Pod{ranked(2_000_000_000, app("lower", "cpu=1"))}, []Amount{{v1.ResourceCPU, 1_000}})
	if got := names(r.Victims); !slices.Equal(got, []string{"default/lower"}) {
		t.Errorf("victims %v", got)
	}
}

func TestSignalIsTheFirstFailureEvenIfItNeedsNothing(t *testing.T) {
	r := Plan(critical(), []*v1.Pod{app("a", "memory=1Gi")}, []Amount{{v1.ResourcePods, 0}, {v1.ResourceMemory, 1}})
	if r.Signal != v1.ResourcePods || len(r.Need) != 1 || len(r.Victims) != 1 {
		t.Errorf("signal %s, need %v, victims %v", r.Signal, r.Need, names(r.Victims))
	}
}

func TestHugeRequestsDoNotOverflow(t *testing.T) {
	var pods []*v1.Pod
	for name := range strings.SplitSeq("abcdef", "") {
		pods = append(pods, app(name, "memory=8Ei"))
	}
	r := Plan(critical(), pods, []Amount{{v1.ResourceMemory, math.MaxInt64}, {v1.ResourcePods, 4}})
	if len(r.Victims) != 4 {
		t.Errorf("victims %v", names(r.Victims))
	}
}

func TestSurvivorsAreOnTheNodeForTheNextPod(t *testing.T) {
	pods := []*v1.Pod{app("a", "cpu=1"), app("b", "cpu=2"), app("c", "cpu=1")}
	r := Plan(critical(), pods, []Amount{{v1.ResourceCPU, 2_000}})
	if got := names(r.Survivors(pods)); !slices.Equal(got, []string{"default/a", "default/c"}) {
		t.Errorf("survivors %v", got)
	}
}

func TestActivePodsAreThoseNotOver(t *testing.T) {
	phase := func(p v1.PodPhase) *v1.Pod {
		return with(app(string(p), ""), func(pod *v1.Pod) { pod.Status.Phase = p })
	}
	pods := []*v1.Pod{phase(v1.PodSucceeded), phase(v1.PodRunning), phase(v1.PodFailed), phase(v1.PodPending), phase("")}
	if got := names(Active(pods)); !slices.Equal(got, []string{"default/Running", "default/Pending", "default/"}) {
		t.Errorf("active %v", got)
	}
}
