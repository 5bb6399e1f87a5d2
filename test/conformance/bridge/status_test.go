package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func condition(kind v1.PodConditionType, status v1.ConditionStatus) v1.PodCondition {
	return v1.PodCondition{Type: kind, Status: status}
}

func TestMergeKeepsWhatOthersWrote(t *testing.T) {
	stored := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Generation: 3}, Status: v1.PodStatus{
		QOSClass:   v1.PodQOSBurstable,
		Conditions: []v1.PodCondition{condition("example.com/gate", v1.ConditionTrue), condition(v1.PodReady, v1.ConditionFalse)},
	}}
	podctl := v1.PodStatus{Phase: v1.PodRunning, ObservedGeneration: 2, Conditions: []v1.PodCondition{
		condition("example.com/gate", v1.ConditionFalse), condition("example.com/gone", v1.ConditionTrue), condition(v1.PodReady, v1.ConditionTrue),
	}}
	want := v1.PodStatus{
		Phase: v1.PodRunning, QOSClass: v1.PodQOSBurstable, ObservedGeneration: 2,
		Conditions: []v1.PodCondition{condition("example.com/gate", v1.ConditionTrue), condition(v1.PodReady, v1.ConditionTrue)},
	}
	if diff := cmp.Diff(want, merge(stored, podctl)); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	stored.DeletionTimestamp = new(metav1.Now())
	if got := merge(stored, podctl).ObservedGeneration; got != 3 {
		t.Errorf("observed generation of a deleted pod: %d, want that of the deletion, 3", got)
	}
}

func TestChangedConditions(t *testing.T) {
	stored := []v1.PodCondition{condition("example.com/a", v1.ConditionTrue), condition("example.com/b", v1.ConditionFalse), condition(v1.PodScheduled, v1.ConditionTrue)}
	podctl := []v1.PodCondition{condition("example.com/b", v1.ConditionFalse), condition("example.com/c", v1.ConditionTrue), condition(v1.PodReady, v1.ConditionTrue)}
	want := []v1.PodCondition{condition("example.com/a", v1.ConditionTrue), {Type: "example.com/c"}}
	if diff := cmp.Diff(want, changedConditions(stored, podctl)); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
}
