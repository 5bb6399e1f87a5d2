package podsync

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
)

// Event is something that happened to a pod, in the kubelet's words: what
// `kubectl describe pod` lists (pkg/kubelet/events/event.go).
type Event struct {
	Pod *v1.Pod
	// Container is the container it is about, "" for the pod.
	Container string
	// Warning tells it from a normal event.
	Warning bool
	// Reason is the kubelet's word for it: "Pulling", "BackOff", …
	Reason  string
	Message string
	// State is why the container waits because of it, as the pod's status shows
	// it ("CreateContainerConfigError"); "" where it is not about a start that
	// failed.
	State string
}

// The reasons of podsync's events.
const (
	EventPulling          = "Pulling"
	EventPulled           = "Pulled"
	EventCreated          = "Created"
	EventStarted          = "Started"
	EventKilling          = "Killing"
	EventBackOff          = "BackOff"
	EventFailed           = "Failed"
	EventInspectFailed    = "InspectFailed"
	EventNoPullSecret     = "FailedToRetrieveImagePullSecret"
	EventErrNeverPull     = "ErrImageNeverPull"
	EventFailedKillPod    = "FailedKillPod"
	EventFailedMount      = "FailedMount"
	EventFailedUnmount    = "FailedUnmount" // podctl's own
	EventFailedCgroup     = "FailedCreatePodContainer"
	EventSandboxReady     = "SandboxReady" // podctl's own
	EventSandboxChanged   = "SandboxChanged"
	EventFailedSandbox    = "FailedCreatePodSandBox"
	EventDNSForming       = "DNSConfigForming"
	EventFailedStatus     = "FailedPodSandBoxStatus"
	EventNetworkNotReady  = "NetworkNotReady"
	EventFailedPostStart  = "FailedPostStartHook"
	EventFailedPreStop    = "FailedPreStopHook"
	EventHTTPFallback     = "LifecycleHTTPFallback"
	EventDeadlineExceeded = reasonDeadline
)

func (s *Syncer) normal(p *v1.Pod, container, reason, format string, args ...any) {
	s.event(Event{Pod: p, Container: container, Reason: reason, Message: fmt.Sprintf(format, args...)})
}

func (s *Syncer) warn(p *v1.Pod, container, reason, format string, args ...any) {
	s.event(Event{Pod: p, Container: container, Warning: true, Reason: reason, Message: fmt.Sprintf(format, args...)})
}

// unstarted is an event about a start that failed, for which the container
// waits in that state.
func (s *Syncer) unstarted(p *v1.Pod, container, state, reason, format string, args ...any) {
	s.event(Event{
		Pod: p, Container: container, Reason: reason, Message: fmt.Sprintf(format, args...), State: state,
		Warning: state != reasonImagePullBackOff, // as the kubelet has it
	})
}

func (s *Syncer) event(e Event) {
	s.opt.Host.Event(e)
}

// stable replaces a container's id in a text by its name: ids change from run
// to run, and equal events should look equal.
func stable(message, id, name string) string {
	if id == "" {
		return message
	}
	return strings.ReplaceAll(message, id, name)
}

// podRef is a pod in the kubelet's messages: name_namespace(uid).
func podRef(p *v1.Pod) string {
	return pod.FullNameOf(p) + "(" + string(p.UID) + ")"
}
