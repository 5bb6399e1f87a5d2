package admission

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
)

// Error is a pod that this node does not admit. The pod has failed for good:
// only another manifest or other settings of podctl help.
type Error struct {
	// Reason and Message are the kubelet's: what its event says.
	Reason, Message string
	// HostPort is the port of NodePorts, and the pod that has it; nil of any other reason.
	HostPort *event.HostPort
	hint     string
}

func (e *Error) Error() string {
	text := e.Reason + ": " + e.Message
	if e.HostPort != nil {
		text += ": " + e.HostPort.Text()
	}
	return text
}

// Hint returns what to do about it, "" if there is nothing to suggest.
func (e *Error) Hint() string { return e.hint }

// Status returns the status of the rejected pod (rejectPod in
// pkg/kubelet/kubelet.go).
func (e *Error) Status(p *v1.Pod) v1.PodStatus {
	return v1.PodStatus{Phase: v1.PodFailed, Reason: e.Reason, Message: "Pod was rejected: " + e.Message, QOSClass: pod.QOS(p)}
}

// EvictionFailed returns the error of a critical pod for which a victim could
// not be evicted.
func EvictionFailed(victim string, cause error) *Error {
	return &Error{
		Reason:  unexpected,
		Message: fmt.Sprintf("Unexpected error while attempting to recover from admission failure: preemption: pod %s could not be evicted: %v", victim, cause),
	}
}
