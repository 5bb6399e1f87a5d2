package control

import (
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
)

// Worker is a pod as the podctl process that manages it sees it. It is one object of
// /workers, and travels unchanged from there to what commands print.
type Worker struct {
	Namespace string    `json:"namespace"` // of the pod
	Name      string    `json:"name"`      // of the pod
	UID       types.UID `json:"uid"`       // of the pod

	Phase string    `json:"phase"`           // of the pod worker: syncing, terminating, terminated, finished; unknown if no worker has the pod
	Since time.Time `json:"since,omitzero"`  // when that phase was entered
	Cause string    `json:"cause,omitempty"` // of the first stop request: completed, killed, evicted, deleted, phase, runtime-only, orphaned

	PodStatus  string      `json:"podStatus,omitempty"` // STATUS of podctl pods: Running, CrashLoopBackOff, Stopped, Rejected, …
	PodPhase   v1.PodPhase `json:"podPhase,omitempty"`  // of the pod's status: Pending, Running, Succeeded, Failed
	StartTime  time.Time   `json:"startTime,omitzero"`  // of the pod's status
	IPs        []string    `json:"ips,omitempty"`       // of the pod's status, primary first
	Ready      int         `json:"ready"`               // ready containers, as kubectl counts them
	Containers int         `json:"containers"`          // containers that count for readiness
	Restarts   int32       `json:"restarts"`            // of all containers, as kubectl counts them

	Desired      bool            `json:"desired"`                // a source wants the pod
	Orphan       bool            `json:"orphan,omitempty"`       // the worker's last comparison found that no source wants it
	HasConfig    bool            `json:"hasConfig"`              // the worker knows its spec
	Static       bool            `json:"static,omitempty"`       // its spec is not from an API server
	Adopted      bool            `json:"adopted,omitempty"`      // the runtime held it before this podctl process started
	Stopped      bool            `json:"stopped,omitempty"`      // podctl stop stopped it, and it stays stopped
	Again        bool            `json:"again,omitempty"`        // it is being stopped to start again
	Rejected     string          `json:"rejected,omitempty"`     // why it does not run: it was not admitted or, with waitReason, something is in the way
	Advice       string          `json:"advice,omitempty"`       // what to do about that
	WaitReason   string          `json:"waitReason,omitempty"`   // what its start, or the removal of its leftovers, waits for: NameHeld, RuntimeUnavailable, …
	HostPort     *event.HostPort `json:"hostPort,omitempty"`     // the host port for which it was rejected or waits, and the pod that has it
	WaitsForName types.UID       `json:"waitsForName,omitempty"` // UID of the pod that has its full name

	Unready  []event.Unready `json:"unready,omitempty"`  // containers whose probes failed when they were last asked
	NotReady string          `json:"notReady,omitempty"` // which readiness gates keep a pod with ready containers from being ready
	Waiting  []Waiting       `json:"waiting,omitempty"`  // containers that could not start
	Start    pod.Start       `json:"start,omitzero"`     // how far the start of the pod is, and how long its steps took

	Operation      string        `json:"operation,omitempty"`     // in flight: sync, terminate, terminate-runtime, cleanup
	OperationSince time.Time     `json:"operationSince,omitzero"` // when the operation began
	Pending        string        `json:"pending,omitempty"`       // update that waits behind the operation
	Calls          []Call        `json:"calls,omitempty"`         // CRI calls in flight, oldest first
	Locks          []Lock        `json:"locks,omitempty"`         // locks for which the operation waits, oldest first
	LastDone       time.Time     `json:"lastDone,omitzero"`       // when the last operation ended
	LastError      event.Failure `json:"lastError,omitzero"`      // how the last operation failed
	NextWake       time.Time     `json:"nextWake,omitzero"`       // when the pod is looked at again at the latest; with waitReason, when it is tried again

	StopRequested    time.Time `json:"stopRequested,omitzero"`     // of a terminating pod
	GraceSeconds     int64     `json:"graceSeconds,omitempty"`     // of a terminating pod
	GraceLeftSeconds *int64    `json:"graceLeftSeconds,omitempty"` // of a terminating pod, negative once the grace period is exceeded
}

// Terminating reports whether the pod is terminating: asked to stop, and not yet
// cleaned up.
func (w Worker) Terminating() bool { return w.Phase == "terminating" || w.Phase == "terminated" }

// Finished reports whether the pod has ended and was cleaned up.
func (w Worker) Finished() bool { return w.Phase == "finished" }

// Waiting is a container that could not start.
type Waiting struct {
	Container      string    `json:"container"`                // its name
	Reason         string    `json:"reason"`                   // as the pod's status has it: CrashLoopBackOff, ErrImagePull, …
	Message        string    `json:"message,omitempty"`        // as the pod's status has it
	RetryAt        time.Time `json:"retryAt,omitzero"`         // end of the back-off
	BackOffSeconds float64   `json:"backOffSeconds,omitempty"` // all of the back-off of a container that exited
}

// WaitingOf returns the containers that could not start, as a pod's status has them.
func WaitingOf(s *v1.PodStatus) []Waiting {
	var all []Waiting
	for _, c := range pod.NotStarted(s) {
		all = append(all, Waiting{Container: c.Name, Reason: c.State.Waiting.Reason, Message: c.State.Waiting.Message})
	}
	return all
}

// Call is a CRI call in flight.
type Call struct {
	Method    string    `json:"method"`              // of the CRI: StopContainer
	ID        string    `json:"id,omitempty"`        // of the container or sandbox
	Container string    `json:"container,omitempty"` // name of the container, missing for a sandbox
	Since     time.Time `json:"since"`               // when the call began
}

// Lock is a lock on a file for which an operation waits.
type Lock struct {
	Path    string    `json:"path"`              // of the file or directory, as the podctl process that waits sees it
	Since   time.Time `json:"since"`             // when it began to wait
	PID     int       `json:"pid,omitempty"`     // of the process that holds the lock, if known
	Command string    `json:"command,omitempty"` // of that process
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

// restartRequest is the body of /restart.
type restartRequest struct {
	Namespace  string            `json:"namespace"`
	Name       string            `json:"name"`
	Containers map[string]string `json:"containers"`      // ids of the runs that are meant, by name; "" is the newest
	Force      bool              `json:"force,omitempty"` // also those that start again only with some exit codes
}

// debugRequest is the body of /debug.
type debugRequest struct {
	Namespace string                `json:"namespace"`
	Name      string                `json:"name"`
	Container v1.EphemeralContainer `json:"container"`
}

// conditionRequest is the body of /condition.
type conditionRequest struct {
	Namespace string          `json:"namespace"`
	Name      string          `json:"name"`
	Condition v1.PodCondition `json:"condition"`
}

// errorBody is the body of an answer that is an error.
type errorBody struct {
	Error string `json:"error"`
	Hint  string `json:"hint,omitempty"`
}
