package control

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/event"
)

// Waiting is a container that waits, and why, as the pod's status has it.
type Waiting struct {
	Container string `json:"container"`
	Reason    string `json:"reason"`
	Message   string `json:"message,omitempty"`
}

// Worker is one pod as the podctl that manages it sees it. Fields may be
// added; what is "" or zero is left out of the JSON.
type Worker struct {
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	UID       types.UID `json:"uid"`

	// Phase of the worker: syncing, terminating, terminated, finished; unknown
	// where no worker has the pod (yet, or any more). Since is when it was entered.
	Phase string    `json:"phase"`
	Since time.Time `json:"since,omitzero"`
	// Cause is the first stop request: completed, killed, evicted, deleted,
	// phase, runtime-only, orphaned.
	Cause string `json:"cause,omitempty"`
	// Status is the pod's phase in its status: Pending, Running, Succeeded, Failed.
	Status v1.PodPhase `json:"status,omitempty"`
	// Display is what kubectl shows as STATUS: CrashLoopBackOff, Completed, Init:1/2 …
	Display string `json:"display,omitempty"`
	// StartTime, IPs and, as kubectl counts them, ready containers, all
	// containers and restarts are of that status, too.
	StartTime  time.Time `json:"startTime,omitzero"`
	IPs        []string  `json:"ips,omitempty"`
	Ready      int       `json:"ready"`
	Containers int       `json:"containers"`
	Restarts   int32     `json:"restarts"`

	// Desired: a source wants the pod. Orphan: the worker's last comparison did not.
	Desired bool `json:"desired"`
	Orphan  bool `json:"orphan,omitempty"`
	// HasConfig: its spec is known. Static: that is not from an API server.
	HasConfig bool `json:"hasConfig"`
	Static    bool `json:"static,omitempty"`
	// Adopted: the runtime held it before this podctl began. Stopped: podctl
	// stop stopped it, and it stays stopped. Again: it is being stopped to start again.
	Adopted bool `json:"adopted,omitempty"`
	Stopped bool `json:"stopped,omitempty"`
	Again   bool `json:"again,omitempty"`
	// Rejected is why it does not run: it was not admitted, or, if WaitReason is set,
	// something is in the way, and it is tried again at NextWake.
	Rejected string `json:"rejected,omitempty"`
	// WaitReason is why the pod cannot start yet, or why what it left behind could
	// not be removed yet: "NameHeld", "RuntimeUnavailable".
	WaitReason string `json:"waitReason,omitempty"`
	// WaitsForName is the UID of the pod that has this one's full name.
	WaitsForName types.UID `json:"waitsForName,omitempty"`

	// Unready are the containers whose probes failed when they were last asked.
	Unready []event.Unready `json:"unready,omitempty"`

	// Waiting are the containers that could not start.
	Waiting []Waiting `json:"waiting,omitempty"`

	// Operation in flight: sync, terminate, terminate-runtime, cleanup; and
	// since when. Pending is the update that waits behind it.
	Operation      string    `json:"operation,omitempty"`
	OperationSince time.Time `json:"operationSince,omitzero"`
	Pending        string    `json:"pending,omitempty"`
	// Calls of the runtime in flight about its containers and sandboxes,
	// oldest first.
	Calls []Call `json:"calls,omitempty"`
	// Locks are the locks for which the operation waits, oldest first.
	Locks []Lock `json:"locks,omitempty"`
	// LastDone is when the last operation ended, LastError how it failed: the
	// operation, the layer in which it failed, and the text; absent if it did not.
	LastDone  time.Time     `json:"lastDone,omitzero"`
	LastError event.Failure `json:"lastError,omitzero"`
	// NextWake is when the worker looks at it again at the latest.
	NextWake time.Time `json:"nextWake,omitzero"`

	// StopRequested is when it began to end, GraceSeconds what it was given,
	// GraceLeftSeconds what remains of that now: negative once it is overrun.
	StopRequested    time.Time `json:"stopRequested,omitzero"`
	GraceSeconds     int64     `json:"graceSeconds,omitempty"`
	GraceLeftSeconds *int64    `json:"graceLeftSeconds,omitempty"`
}

// Terminating reports whether the pod is terminating: asked to stop, and not yet
// cleaned up.
func (w Worker) Terminating() bool { return w.Phase == "terminating" || w.Phase == "terminated" }

// Call is one call of the runtime that has not been answered.
type Call struct {
	// Method is the CRI's: StopContainer.
	Method string `json:"method"`
	// ID is the container's or sandbox's; Container the container's name, "" of
	// a sandbox.
	ID        string    `json:"id,omitempty"`
	Container string    `json:"container,omitempty"`
	Since     time.Time `json:"since"`
}

// Lock is a lock on a file for which an operation waits.
type Lock struct {
	// Path is the file's or directory's, as the podctl that waits sees it.
	Path  string    `json:"path"`
	Since time.Time `json:"since"`
	// PID is the process that holds it, 0 if that is not known, Command its name.
	PID     int    `json:"pid,omitempty"`
	Command string `json:"command,omitempty"`
}

// Event is one line of /events. Its message is the kubelet's, or made of the
// facts that stand beside it.
type Event struct {
	event.Event
	// State is the reason for which the container waits because of the event:
	// CreateContainerConfigError, ErrImagePull, …
	State string `json:"state,omitempty"`
	// Lost is how many events before this one were not sent, because the
	// reader did not read.
	Lost int `json:"lost,omitempty"`
}

// EventOf returns the event as the stream shows it, with its text.
func EventOf(ev event.Event) Event {
	ev.Message = ev.Text()
	return Event{Event: ev, State: ev.State()}
}

// podRequest is the body of /stop and /start.
type podRequest struct {
	Namespace    string `json:"namespace"`
	Name         string `json:"name"`
	GraceSeconds *int64 `json:"graceSeconds,omitempty"` // of /stop: nil is the pod's own
}

// debugRequest is the body of /debug.
type debugRequest struct {
	Namespace string                `json:"namespace"`
	Name      string                `json:"name"`
	Container v1.EphemeralContainer `json:"container"`
}

// errorBody is the body of an answer that is an error.
type errorBody struct {
	Error string `json:"error"`
	Hint  string `json:"hint,omitempty"`
}
