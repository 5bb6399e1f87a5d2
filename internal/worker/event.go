package worker

import (
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
)

// Event is one thing that happened to one pod: Adopt, Update, Kill,
// KillRuntime, Due, OpDone or Reconcile.
//
//sumtype:decl
type Event interface {
	fmt.Stringer
	isEvent()
}

// Adopt says that the runtime already holds the pod's sandbox, made by an
// earlier podctl, and what its spec is. It comes before any other event of
// that pod, and does nothing for a pod that the worker knows. (The kubelet has
// no such event.)
type Adopt struct {
	Pod       *v1.Pod
	Exclusive bool
}

// Update brings a spec. It is a stop request if the spec carries a deletion
// timestamp or the phase Succeeded or Failed.
type Update struct {
	// Pod is the spec. It must be set, and never be changed afterwards.
	Pod  *v1.Pod
	Type UpdateType
	// Exclusive reports that no other exclusive pod of this full name may run.
	// (The kubelet: a static pod.)
	Exclusive bool
	// RuntimeEmpty reports that the runtime is known to hold nothing of the pod
	// that runs. False if the caller cannot tell.
	RuntimeEmpty bool
}

// Kill asks for the pod to stop, and brings a spec as Update does.
type Kill struct {
	Pod          *v1.Pod
	Exclusive    bool
	RuntimeEmpty bool
	// Grace in seconds shortens the pod's own grace period; nil leaves it.
	Grace *int64
	// Evict makes the stop an eviction, if it is the first stop request.
	Evict bool
	// Status replaces the override of earlier kills unless it is zero.
	Status StatusOverride
	// Waiter is released once the pod is down; 0 is none.
	Waiter WaiterID
}

// KillRuntime asks for a pod that was found in the runtime to stop. The
// pod's spec is used where the worker knows it.
type KillRuntime struct {
	Pod *pod.Pod
	// Exclusive makes an unknown pod hold its full name until it is gone.
	// (The kubelet: false, it does not know that the pod is static.)
	Exclusive bool
}

// Due is the wake-up that a Wake effect asked for.
type Due struct{}

// OpDone reports the outcome of the operation in flight.
type OpDone struct {
	Op Op
	// Terminal is what Sync found: the pod has ended by itself. It counts only
	// without an error.
	Terminal bool
	Err      error
}

// Reconcile is SyncKnownPods for one pod: whether it is desired.
type Reconcile struct{ Desired bool }

func (Adopt) isEvent()       {}
func (Update) isEvent()      {}
func (Kill) isEvent()        {}
func (KillRuntime) isEvent() {}
func (Due) isEvent()         {}
func (OpDone) isEvent()      {}
func (Reconcile) isEvent()   {}

func (e Adopt) String() string       { return "adopt" }
func (e Update) String() string      { return "update " + e.Type.String() }
func (e KillRuntime) String() string { return "kill-runtime" }
func (e Due) String() string         { return "due" }

func (e Kill) String() string {
	if e.Evict {
		return "evict"
	}
	return "kill"
}

func (e OpDone) String() string {
	switch {
	case e.Err != nil:
		return fmt.Sprintf("done %s: %v", e.Op, e.Err)
	case e.Terminal:
		return fmt.Sprintf("done %s: terminal", e.Op)
	default:
		return fmt.Sprintf("done %s: ok", e.Op)
	}
}

func (e Reconcile) String() string {
	if e.Desired {
		return "reconcile desired"
	}
	return "reconcile undesired"
}
