package event

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Event is one thing that happened to a pod, to one of its containers, or to
// the runtime. It is a line of /events on the control socket.
type Event struct {
	Time time.Time `json:"time"`
	// Kind is Job or CronJob of an event about one, "" else.
	Kind string `json:"kind,omitempty"`
	// Namespace, Name and UID are the pod's, or those of the Kind; empty where it is about the runtime.
	Namespace string    `json:"namespace,omitempty"`
	Name      string    `json:"name,omitempty"`
	UID       types.UID `json:"uid,omitempty"`
	// Container is the container's name, "" where the event is about the pod.
	Container string `json:"container,omitempty"`
	// Attempt is the container's, of Running and Exited.
	Attempt int32 `json:"attempt,omitempty"`
	// Phase is the pod's phase as of the event.
	Phase v1.PodPhase `json:"phase,omitempty"`
	// Reason is the kubelet's where it has one, else podctl's own: see the
	// constants.
	Reason string `json:"reason"`
	// Message is the kubelet's text. Podctl's own events have none: Text makes it
	// of the fields below.
	Message string `json:"message,omitempty"`
	// Warning marks what a user should look at.
	Warning bool `json:"warning,omitempty"`

	// The facts. Which of them an event has depends on its reason.

	// Exit is how a container's process ended: Exited.
	Exit *Exit `json:"exit,omitempty"`
	// Image is the image that is pulled, was pulled, or could not be.
	Image *Image `json:"image,omitempty"`
	// Waiting is why a container waits because of the event, as its status shows
	// it. nil for an event that is not about a start that failed.
	Waiting *ContainerWait `json:"waiting,omitempty"`
	// Stop is how the pod is being stopped: Terminating.
	Stop *Stop `json:"stop,omitempty"`
	// Eviction is why the pod is terminated for good: Evicted, and Preempting of
	// the pod that gives way.
	Eviction *Eviction `json:"eviction,omitempty"`
	// Victims are the pods that give way: Preempting of the pod that waits.
	Victims []string `json:"victims,omitempty"`
	// HostPort is a host port that the pod asks for and another one has: NodePorts, and
	// Waiting for that port.
	HostPort *HostPort `json:"hostPort,omitempty"`
	// Probe is the probe that failed or warned: Unhealthy, ProbeWarning, and Killing
	// if the container is restarted for it.
	Probe *Probe `json:"probe,omitempty"`
	// Failure is what failed: of warnings about an operation, and RuntimeDown.
	Failure *Failure `json:"failure,omitempty"`
	// Addresses are the pod's, of SandboxReady; none on the host's network.
	Addresses []string `json:"addresses,omitempty"`
	// Adoption is what becomes of a pod that the runtime already held: Adopted.
	Adoption Adoption `json:"adoption,omitempty"`
	// Resize is what a pod that is resized asks for: the events of a resize.
	Resize *Resize `json:"resize,omitempty"`
	// Count is the number of events that were not recorded: EventsDropped.
	Count int `json:"count,omitempty"`
	// End is the pod's own reason for its final phase: Ended. nil if it has none.
	End *End `json:"end,omitempty"`
}

// State returns why the container waits after the event: CrashLoopBackOff, ErrImagePull;
// "" if it does not wait.
func (e *Event) State() string {
	if e.Waiting == nil {
		return ""
	}
	return e.Waiting.Reason
}
