package event

import (
	"time"

	v1 "k8s.io/api/core/v1"
)

// Exit is how a container's process ended.
type Exit struct {
	// Code is the exit code.
	Code int32 `json:"code"`
	// Signal is the signal that ended it, 0 if none is known.
	Signal int32 `json:"signal,omitempty"`
	// OOM: the runtime reports that the kernel killed a process of the container, or of its
	// pod, for lack of memory. The container ended by that only if its code is 137.
	OOM bool `json:"oom,omitempty"`
	// Reason is as the container's status shows it: Completed, Error, OOMKilled, …
	Reason string `json:"reason,omitempty"`
	// Message is the container's termination message.
	Message string `json:"message,omitempty"`
	// Seconds is how long it ran, 0 if that is not known.
	Seconds float64 `json:"ranSeconds,omitempty"`
}

// The reasons of an end in a container's status, as the runtimes give them.
const (
	reasonCompleted = "Completed"
	reasonError     = "Error"
	reasonOOMKilled = "OOMKilled"
)

// signalBase is what shells and runtimes add to the number of the signal that
// ended a process, to make an exit code of it.
const signalBase = 128

// ExitOf returns the facts of a terminated container's state.
func ExitOf(t *v1.ContainerStateTerminated) *Exit {
	e := &Exit{Code: t.ExitCode, Signal: t.Signal, OOM: t.Reason == reasonOOMKilled, Reason: t.Reason, Message: t.Message}
	if e.Signal == 0 && t.ExitCode > signalBase && t.ExitCode <= signalBase+64 {
		e.Signal = t.ExitCode - signalBase
	}
	if !t.StartedAt.IsZero() && t.FinishedAt.After(t.StartedAt.Time) {
		e.Seconds = t.FinishedAt.Sub(t.StartedAt.Time).Seconds()
	}
	return e
}

// Image is an image that a container needs.
type Image struct {
	// Name is as the manifest has it.
	Name string `json:"name"`
	// Present: it was there already.
	Present bool `json:"present,omitempty"`
	// Seconds is how long the pull took.
	Seconds float64 `json:"tookSeconds,omitempty"`
	// Size is the image's, in bytes.
	Size uint64 `json:"sizeBytes,omitempty"`
}

// ContainerWait is why a container waits.
type ContainerWait struct {
	// Reason is as the container's status shows it: CrashLoopBackOff,
	// ErrImagePull, CreateContainerConfigError, …
	Reason string `json:"reason"`
	// Message is the status's, "" where an event before has said it.
	Message string `json:"message,omitempty"`
	// RetryAt is the end of the back-off, zero without one.
	RetryAt time.Time `json:"retryAt,omitzero"`
	// Crash is the back-off of a container that exited, nil for another reason.
	Crash *Crash `json:"crash,omitempty"`
}

// Crash is a container's back-off after an exit.
type Crash struct {
	// BackOffSeconds is the whole back-off.
	BackOffSeconds float64 `json:"backOffSeconds"`
	// ExitCode is that of the last exit.
	ExitCode int32 `json:"exitCode"`
}

// Stop is how a pod is being stopped.
type Stop struct {
	// Cause is the worker's: killed, evicted, deleted, phase, runtime-only,
	// orphaned.
	Cause string `json:"cause,omitempty"`
	// Why is what made podctl stop the pod: command, manifest-changed,
	// manifest-removed, shutdown; absent if it is none of these.
	Why StopReason `json:"why,omitempty"`
	// Grace is the grace period in seconds, 0 for the pod's own.
	Grace int64 `json:"graceSeconds,omitempty"`
}

// StopReason is what made podctl stop a pod.
type StopReason string

const (
	// ByCommand: podctl stop.
	ByCommand StopReason = "command"
	// ManifestChanged: the pod is replaced by one of its changed manifest.
	ManifestChanged StopReason = "manifest-changed"
	// ManifestRemoved: no source wants the pod.
	ManifestRemoved StopReason = "manifest-removed"
	// Shutdown: the podctl that runs it terminates its pods.
	Shutdown StopReason = "shutdown"
)

// EvictionCause is what a pod is evicted for. The zero value is no eviction.
type EvictionCause string

const (
	// Preempted: to make room for a critical pod.
	Preempted EvictionCause = "preempted"
	// OverLimit: an emptyDir volume holds more than its sizeLimit, or the pod or a
	// container has more on disk than its limit of ephemeral-storage.
	OverLimit EvictionCause = "over-limit"
)

// Eviction is why a pod is terminated for good. It is comparable; the zero
// value is no eviction.
type Eviction struct {
	// Cause is preempted or over-limit.
	Cause EvictionCause `json:"cause"`
	// For is the pod that a preemption makes room for.
	For string `json:"for,omitempty"`
	// Resource is what that pod lacked.
	Resource string `json:"resource,omitempty"`
	// Volume is the emptyDir that holds too much.
	Volume string `json:"volume,omitempty"`
	// Container is the one that has too much on disk.
	Container string `json:"container,omitempty"`
	// Limit is the limit of that volume or container; if there is neither, that of the
	// containers together.
	Limit string `json:"limit,omitempty"`
}

// Probe is what a probe said.
type Probe struct {
	// Type is one of the probe types.
	Type string `json:"type"`
	// Result is failure, warning or error.
	Result ProbeResult `json:"result"`
	// Output is what the probe said, or the error.
	Output string `json:"output,omitempty"`
	// Failures is how often in a row it failed.
	Failures int32 `json:"failures,omitempty"`
}

// The types of probes, as the kubelet's events have them.
const (
	StartupProbe   = "Startup"
	LivenessProbe  = "Liveness"
	ReadinessProbe = "Readiness"
)

// Unready is a container whose probe failed when it was last asked.
type Unready struct {
	// Container is the container's name.
	Container string `json:"container"`
	// Probe is what the probe said.
	Probe Probe `json:"probe"`
}

// ProbeResult is how a probe did not simply succeed.
type ProbeResult string

const (
	// ProbeFailed: the container answered that it is not well, or not at all.
	ProbeFailed ProbeResult = "failure"
	// ProbeWarned: it succeeded with a warning.
	ProbeWarned ProbeResult = "warning"
	// ProbeErrored: the probe could not be carried out.
	ProbeErrored ProbeResult = "error"
)

// Adoption is what becomes of a pod that the runtime already held.
type Adoption string

const (
	// Continues: it goes on running.
	Continues Adoption = "continues"
	// StaysStopped: podctl stop had stopped it.
	StaysStopped Adoption = "stays-stopped"
	// Restarts: it was being stopped; that is completed, and it starts again.
	Restarts Adoption = "restarts"
	// StaysEnded: its phase is final.
	StaysEnded Adoption = "stays-ended"
)

// End is a pod's own reason for its final phase.
type End struct {
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
}

// Resize is what the containers of a pod that is resized ask for.
type Resize struct {
	InitContainers []ResizedContainer `json:"initContainers,omitempty"`
	Containers     []ResizedContainer `json:"containers,omitempty"`
	Generation     int64              `json:"generation"`
	// Error is why it is deferred, or failed.
	Error string `json:"error,omitempty"`
}

// ResizedContainer is one container of a Resize.
type ResizedContainer struct {
	Name      string                  `json:"name"`
	Resources v1.ResourceRequirements `json:"resources"`
}
