package preempt

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podctl/podctl/internal/pod/event"
)

// Reasons for which the kubelet rejects a pod, besides NodeAffinity, NodeName, NodePorts,
// TaintToleration and OutOf with the name of a resource (pkg/kubelet/lifecycle/predicate.go).
const (
	PodOSSelectorNodeLabelDoesNotMatch   = "PodOSSelectorNodeLabelDoesNotMatch"
	PodOSNotSupported                    = "PodOSNotSupported"
	SupplementalGroupsPolicyNotSupported = "SupplementalGroupsPolicyNotSupported"
	UnexpectedAdmissionError             = "UnexpectedAdmissionError"
)

// Failure is one thing that stands against admitting a pod.
type Failure struct {
	// Shortage is set if it is a resource that is short: then and only then can
	// evicting pods help.
	Shortage *Usage
	// Detail adds to what the kubelet says, for output; "" if there is no more
	// to say.
	Detail string
	// HostPort is the port of NodePorts, and the pod that has it; nil of anything else.
	HostPort *event.HostPort

	reason, message string
}

// ShortOf is the failure of a resource that is short.
func ShortOf(u Usage) Failure { return Failure{Shortage: &u} }

// Predicate returns the failure of a predicate such as NodePorts, with its description. The
// tests against the kubelet's own code call it.
func Predicate(name, description string) Failure { return predicate(name, description, "") }

func predicate(name, description, detail string) Failure {
	return Failure{reason: name, message: fmt.Sprintf("Predicate %s failed: %s", name, description), Detail: detail}
}

// Reason is what the kubelet writes into status.reason.
func (f Failure) Reason() string {
	if f.Shortage != nil {
		return "OutOf" + string(f.Shortage.Resource)
	}
	return f.reason
}

// Message is what the kubelet writes into status.message.
func (f Failure) Message() string {
	if u := f.Shortage; u != nil {
		return fmt.Sprintf("Node didn't have enough resource: %s, requested: %d, used: %d, capacity: %d", u.Resource, u.Requested, u.Used, u.Allocatable)
	}
	return f.message
}

// MarshalJSON writes {"reason":…,"message":…,"detail":…,"hostPort":…}.
func (f Failure) MarshalJSON() ([]byte, error) {
	return json.Marshal(struct {
		Reason   string          `json:"reason"`
		Message  string          `json:"message"`
		Detail   string          `json:"detail,omitempty"`
		HostPort *event.HostPort `json:"hostPort,omitempty"`
	}{f.Reason(), f.Message(), f.Detail, f.HostPort})
}

// needs is what the failures ask to be freed, in their order, and whether all
// of them are about resources.
func needs(failures []Failure) (need []Amount, all bool) {
	for _, f := range failures {
		if f.Shortage == nil {
			return nil, false
		}
		need = append(need, Amount{f.Shortage.Resource, f.Shortage.Requested - (f.Shortage.Allocatable - f.Shortage.Used)})
	}
	return need, true
}

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
