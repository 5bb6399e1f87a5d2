package node

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/preempt"
)

// Event is one thing that happened to a pod. Reasons are the kubelet's
// where it has one (Pulling, Pulled, Created, Started, Killing, BackOff,
// Failed, FailedSync …), and below where it has none.
type Event struct {
	Time      time.Time
	UID       types.UID
	Namespace string
	Name      string
	// Container is "" where the event is about the pod.
	Container string
	// Attempt is the container's, of an event about how it ran.
	Attempt int32
	// Warning marks what a user should look at.
	Warning bool
	Reason  string
	Message string
	// State is why the container waits because of it, as its status shows it
	// ("CreateContainerConfigError"); "" where it is not about a start that failed.
	State string
	// Phase is the pod's phase as of the event.
	Phase v1.PodPhase
}

// podctl's own reasons: what the kubelet shows in the status only.
const (
	// ReasonStarting: the pod was let in.
	ReasonStarting = "Starting"
	// ReasonAdopted: the runtime already held the pod, and it goes on.
	ReasonAdopted = "Adopted"
	// ReasonRunning: the container's process runs.
	ReasonRunning = "Running"
	// ReasonExited: the container's process has ended.
	ReasonExited = "Exited"
	// ReasonRestartingAll: all containers are removed and start anew, as a
	// restart rule of one of them asks for.
	ReasonRestartingAll = "RestartingAllContainers"
	// ReasonReady: all containers are ready.
	ReasonReady = "Ready"
	// ReasonNotReady: some container is not ready any more, by its probe.
	ReasonNotReady = "NotReady"
	// ReasonFailedSync: what the runtime holds of the pod cannot be read; the
	// kubelet's word.
	ReasonFailedSync = "FailedSync"
	// ReasonEnded: the pod's phase is final.
	ReasonEnded = "Ended"
	// ReasonWaiting: the pod cannot start for as long as Message is true; it is
	// tried again.
	ReasonWaiting = "Waiting"
	// ReasonPreempting: the pod waits for others to end, which make room for it;
	// of one of these, the kubelet's own.
	ReasonPreempting = preempt.Preempting
	// ReasonTerminating: the pod was asked to stop.
	ReasonTerminating = "Terminating"
	// ReasonStopped: nothing of the pod runs any more.
	ReasonStopped = "Stopped"
	// ReasonRemoved: the pod has left nothing behind.
	ReasonRemoved = "Removed"
	// ReasonRuntimeDown and ReasonRuntimeUp: the runtime stopped answering,
	// and answers again.
	ReasonRuntimeDown = "RuntimeDown"
	ReasonRuntimeUp   = "RuntimeUp"
)
