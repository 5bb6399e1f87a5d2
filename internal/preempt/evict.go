package preempt

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Preempting and Message are the status reason and message of a victim
// (pkg/kubelet/preemption/preemption.go).
const (
	Preempting = "Preempting"
	Message    = "Preempted in order to admit critical pod"
)

// Override returns what the kubelet does to the status of a victim: phase
// Failed, the reason, and the condition DisruptionTarget as of now. It is for
// the worker's eviction; the victim's own grace period applies.
func Override(victim *v1.Pod, now time.Time) func(*v1.PodStatus) {
	generation := victim.Generation
	return func(s *v1.PodStatus) {
		s.Phase, s.Reason, s.Message = v1.PodFailed, Preempting, Message
		condition := v1.PodCondition{
			Type:               v1.DisruptionTarget,
			ObservedGeneration: generation,
			Status:             v1.ConditionTrue,
			Reason:             v1.PodReasonTerminationByKubelet,
			Message:            "Pod was preempted by Kubelet to accommodate a critical pod.",
			LastTransitionTime: metav1.NewTime(now),
		}
		i := slices.IndexFunc(s.Conditions, func(c v1.PodCondition) bool { return c.Type == condition.Type })
		if i < 0 {
			s.Conditions = append(s.Conditions, condition)
			return
		}
		if s.Conditions[i].Status == condition.Status {
			condition.LastTransitionTime = s.Conditions[i].LastTransitionTime
		}
		s.Conditions[i] = condition
	}
}
