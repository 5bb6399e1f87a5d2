package tape

import (
	"time"

	"k8s.io/apimachinery/pkg/types"
)

const (
	// formatName identifies a tape, formatVersion is the version that this
	// package reads and writes. Fields may be added to a version; readers ignore
	// unknown ones.
	formatName    = "podctl-pleg"
	formatVersion = 1
)

// Header is the first line of a tape. The fields about the PLEG are those of
// pleg.Options; durations are in Go's notation.
type Header struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	// Podctl is the version of podctl that recorded it, Runtime the runtime's
	// name and version.
	Podctl  string `json:"podctl"`
	Runtime string `json:"runtime"`
	// Start is what all times of the tape count from.
	Start time.Time `json:"start"`
	// Period is the time between two relists; 0 for the kubelet's second.
	Period Duration `json:"period,omitempty"`
	// HintsOnly: relists only catch up with the hint stream.
	HintsOnly bool `json:"hintsOnly,omitempty"`
}

// The kinds of entries.
const (
	kindCall   = "call"   // a call of the runtime begins
	kindAnswer = "answer" // it has returned
	kindOpened = "opened" // the hint stream is open
	kindHint   = "hint"   // an event of the runtime, reduced
	kindClosed = "closed" // the hint stream has ended, or could not be opened
	kindEnd    = "end"    // the recording is complete
)

// The calls of pleg.Runtime.
const (
	opList   = "ListPods"
	opPod    = "ListPod"
	opStatus = "PodStatus"
)

// entry is every line after the first. Which fields are set depends on Do.
type entry struct {
	// T is when it happened, in nanoseconds since Header.Start. It never goes back.
	T  int64  `json:"t"`
	Do string `json:"do"`
	// N is the number of a call, from 1 on, and of its answer.
	N int `json:"n,omitempty"`
	// Op and UID are the request of a call.
	Op  string    `json:"op,omitempty"`
	UID types.UID `json:"uid,omitempty"`
	// Pods answers the two lists: all pods in the runtime's order, or one or
	// none. Same: as the last answer of a ListPods that was no error.
	Pods []podLine `json:"pods,omitempty"`
	Same bool      `json:"same,omitempty"`
	// Status answers PodStatus.
	Status *statusLine `json:"status,omitempty"`
	// Error is the text of an answer that is an error, and why a stream ended.
	Error string `json:"error,omitempty"`
	// Unsupported: the runtime has no events.
	Unsupported bool      `json:"unsupported,omitempty"`
	Hint        *hintLine `json:"hint,omitempty"`
}

type podLine struct {
	UID        types.UID       `json:"uid"`
	Namespace  string          `json:"namespace,omitempty"`
	Name       string          `json:"name,omitempty"`
	Sandboxes  []sandboxLine   `json:"sandboxes,omitempty"`
	Containers []containerLine `json:"containers,omitempty"`
}

type sandboxLine struct {
	ID      string    `json:"id"`
	Attempt uint32    `json:"attempt,omitempty"`
	State   string    `json:"state"`
	Created time.Time `json:"created,omitzero"`
	// Only in a status:
	IPs         []string `json:"ips,omitempty"`
	HostNetwork bool     `json:"hostNetwork,omitempty"`
}

type containerLine struct {
	ID      string    `json:"id"`
	Sandbox string    `json:"sandbox,omitempty"`
	Name    string    `json:"name,omitempty"`
	Attempt uint32    `json:"attempt,omitempty"`
	State   string    `json:"state"`
	Created time.Time `json:"created,omitzero"`
	// Only in a status:
	Started  time.Time `json:"started,omitzero"`
	Finished time.Time `json:"finished,omitzero"`
	ExitCode int32     `json:"exitCode,omitempty"`
	Reason   string    `json:"reason,omitempty"`
	Restarts int32     `json:"restarts,omitempty"`
}

type statusLine struct {
	UID        types.UID       `json:"uid"`
	Namespace  string          `json:"namespace,omitempty"`
	Name       string          `json:"name,omitempty"`
	IPs        []string        `json:"ips,omitempty"`
	Sandboxes  []sandboxLine   `json:"sandboxes,omitempty"`
	Containers []containerLine `json:"containers,omitempty"`
}

type hintLine struct {
	ID      string    `json:"id"`
	UID     types.UID `json:"uid,omitempty"`
	Created time.Time `json:"created,omitzero"`
	Deleted bool      `json:"deleted,omitempty"`
	// State is what the event told of; "" if it did not say.
	State string `json:"state,omitempty"`
}

// Duration is written as in "1s".
type Duration time.Duration

// MarshalText writes the duration in Go's notation.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads it.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	*d = Duration(v)
	return err
}
