package preempt

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func graceful(seconds int64, p *v1.Pod) *v1.Pod {
	p.Spec.TerminationGracePeriodSeconds = &seconds
	return p
}

func ending(p *v1.Pod) *v1.Pod {
	p.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)}
	return p
}

func TestWarnings(t *testing.T) {
	cpu := func(milli int64) []Amount { return []Amount{{v1.ResourceCPU, milli}} }
	for _, c := range []struct {
		name string
		pods []*v1.Pod
		need []Amount
		want map[WarningKind][]string
	}{
		{"a long grace period", []*v1.Pod{graceful(120, app("slow", "cpu=2")), app("usual", "cpu=1")}, cpu(3000),
			map[WarningKind][]string{LongGrace: {"default/slow has a grace period of 2m0s: victims end one after the other, kube/dns may start as late as 2m30s from now"}}},
		{"pods that terminate", []*v1.Pod{ending(app("a", "cpu=1")), ending(app("b", "cpu=1")), ending(app("idle", "")), app("c", "cpu=2")}, cpu(2000),
			map[WarningKind][]string{StillTerminating: {
				"default/a is terminating and holds 1 cpu until it has ended; when all that terminate have, nothing is short",
				"default/b is terminating and holds 1 cpu until it has ended; when all that terminate have, nothing is short",
			}}},
		{"one that terminates is enough", []*v1.Pod{ending(app("a", "cpu=2"))}, cpu(2000),
			map[WarningKind][]string{StillTerminating: {"default/a is terminating and holds 2 cpu until it has ended; after that nothing is short"}}},
		{"one that terminates is too little", []*v1.Pod{ending(app("a", "cpu=1")), app("c", "cpu=2")}, cpu(2000),
			map[WarningKind][]string{StillTerminating: {"default/a is terminating and holds 1 cpu until it has ended; that is not enough"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got map[WarningKind][]string
			for _, w := range Plan(critical(), c.pods, c.need).Warnings {
				if got == nil {
					got = map[WarningKind][]string{}
				}
				got[w.Kind] = append(got[w.Kind], w.Text)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestGraceIsTheDeletionsIfThereIsOne(t *testing.T) {
	deleted := ending(graceful(120, app("a", "cpu=1")))
	five := int64(5)
	deleted.DeletionGracePeriodSeconds = &five
	r := Plan(critical(), []*v1.Pod{deleted, app("b", "cpu=1")}, []Amount{{v1.ResourceCPU, 2000}})
	if r.Verdicts[0].GraceSeconds != 30 || r.Verdicts[1].GraceSeconds != 5 {
		t.Errorf("verdicts %+v", r.Verdicts)
	}
}

func TestJSONForm(t *testing.T) {
	d := Admit(dns("cpu=1"), machine("cpu=1500m memory=1Gi pods=9"), []*v1.Pod{app("web", "cpu=1")})
	got, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"admitted":true,"failures":[{"reason":"OutOfcpu","message":"Node didn't have enough resource: cpu, requested: 1000, used: 1000, capacity: 1500"}],` +
		`"usage":[{"resource":"pods","allocatable":"9","used":"1","requested":"1","short":"0"},{"resource":"cpu","allocatable":"1500m","used":"1","requested":"1","short":"500m"},` +
		`{"resource":"memory","allocatable":"1Gi","used":"0","requested":"0","short":"0"},{"resource":"ephemeral-storage","allocatable":"0","used":"0","requested":"0","short":"0"}],` +
		`"plan":{"preemptor":{"namespace":"kube","name":"dns","uid":"dns"},"need":[{"resource":"cpu","quantity":"500m"}],"signal":"cpu",` +
		`"verdicts":[{"pod":{"namespace":"default","name":"web","uid":"uid-web"},"qos":"Burstable","priority":0,"frees":[{"resource":"cpu","quantity":"1"},{"resource":"memory","quantity":"0"}],` +
		`"kill":1,"reason":"Victim","graceSeconds":30}]}}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Error(diff)
	}
}

func TestOverrideIsWhatTheKubeletDoesToAVictim(t *testing.T) {
	victim := app("a", "")
	victim.Generation = 7
	now, before := time.Unix(100, 0), metav1.NewTime(time.Unix(50, 0))
	condition := func(at metav1.Time) v1.PodCondition {
		return v1.PodCondition{Type: v1.DisruptionTarget, Status: v1.ConditionTrue, ObservedGeneration: 7, LastTransitionTime: at,
			Reason: "TerminationByKubelet", Message: "Pod was preempted by Kubelet to accommodate a critical pod."}
	}
	for _, c := range []struct {
		name string
		have []v1.PodCondition
		want metav1.Time
	}{
		{"none yet", nil, metav1.NewTime(now)},
		{"was false", []v1.PodCondition{{Type: v1.DisruptionTarget, Status: v1.ConditionFalse, LastTransitionTime: before}}, metav1.NewTime(now)},
		{"was true", []v1.PodCondition{{Type: v1.DisruptionTarget, Status: v1.ConditionTrue, LastTransitionTime: before}}, before},
	} {
		got := v1.PodStatus{Phase: v1.PodRunning, Conditions: c.have}
		Override(victim, now)(&got)
		want := v1.PodStatus{Phase: v1.PodFailed, Reason: "Preempting", Message: "Preempted in order to admit critical pod", Conditions: []v1.PodCondition{condition(c.want)}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}
