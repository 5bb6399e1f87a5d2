package lifecycle

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
)

// Event is what the node tells an entry.
type Event interface{ isEvent() }

// Desire: a source wants this pod.
type Desire struct {
	Desired
	// Known: a worker knows the pod.
	Known bool
	// InPlace: the running pod can follow to this version of its manifest.
	InPlace bool
}

// Undesire: no source wants the pod any more.
type Undesire struct {
	// Grace in seconds, if it is to be shorter than the pod's own; nil is that.
	Grace *int64
}

// Claim: the name's lock was taken for the pod, which is to start.
type Claim struct{}

// Defer: the pod cannot start now.
type Defer struct {
	Reason Reason
	Err    error
}

// Reject: the pod is not admitted.
type Reject struct{ Err error }

// Begin: the pod starts.
type Begin struct {
	Mode StartMode
	// Pod is the spec, with the status of one that has ended before.
	Pod *v1.Pod
	// StopNext is that of the entry when Mode was decided.
	StopNext bool
}

// Found: the runtime holds this pod of podctl's, which has to be stopped, and
// its name is held.
type Found struct {
	Desired
	// Runtime is set if the spec could not be read: all there is to know.
	Runtime *pod.Pod
}

// Leftover: this pod has left a directory and nothing else, and its name is
// held.
type Leftover struct{ Desired }

// Forgotten: no worker knows the pod.
type Forgotten struct{}

// Cleaned: the pod's last operation has removed all that it left behind.
type Cleaned struct{}

// RemovalDone: the removal of what the pod left behind has ended.
type RemovalDone struct{ Err error }

// Stop: podctl stop came for a pod that does not run yet, or whose next life does
// not.
type Stop struct{}

// Start: podctl start came.
type Start struct{}

// Retry: a user asks what the pod waits for.
type Retry struct{}

func (Desire) isEvent()      {}
func (Undesire) isEvent()    {}
func (Claim) isEvent()       {}
func (Defer) isEvent()       {}
func (Reject) isEvent()      {}
func (Begin) isEvent()       {}
func (Found) isEvent()       {}
func (Leftover) isEvent()    {}
func (Forgotten) isEvent()   {}
func (Cleaned) isEvent()     {}
func (RemovalDone) isEvent() {}
func (Stop) isEvent()        {}
func (Start) isEvent()       {}
func (Retry) isEvent()       {}
