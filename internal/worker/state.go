package worker

import (
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
)

// State is all that the worker remembers of one pod: the counterpart of
// podSyncStatus (pkg/kubelet/pod_workers.go). It is a value without context,
// channel, func or mutex, so it can be printed, compared with
// reflect.DeepEqual and replayed. The zero State is that of an unknown pod.
// The pods that it points to are shared and never changed.
type State struct {
	UID types.UID
	// Name and Namespace are those of the first event; the full name that the
	// pod competes for stays that one.
	Name, Namespace string

	Phase Phase
	// Since is when Phase was entered.
	Since time.Time
	// Cause is the first stop request.
	Cause Cause

	// Running is the operation in flight. Invariant: at most one.
	Running Op
	// RunningSince is when it was started, zero when idle.
	RunningSince time.Time
	// Cancelled reports that the operation in flight was told to end early.
	Cancelled bool
	// LastDone is when the last operation ended: a status must be newer than
	// that to show what it did (lastSyncTime in podWorkerLoop).
	LastDone time.Time
	// LastError is how the last operation failed, zero if it did not.
	LastError event.Failure

	// Pending is the latest update that no operation has picked up, Active
	// what the last operation was given, merged with what came before it.
	Pending, Active Work

	// Started: the pod was allowed to start; it needs a Terminate to stop.
	Started bool
	// TerminatingSeen: the stop request was picked up. No container starts
	// any more.
	TerminatingSeen bool
	// Deleted: it was marked for deletion, or it is not desired.
	Deleted bool
	// Evicted: the stop request was an eviction.
	Evicted bool
	// ObservedRuntime: it was seen in the runtime, so it needs a Terminate.
	ObservedRuntime bool
	// Recreate: the UID was created again while stopping; it is forgotten once
	// Finished.
	Recreate bool
	// Orphan: the last SyncKnownPods did not desire it.
	Orphan bool
	// HoldsName: it is among the holders of its full name.
	HoldsName bool

	// Grace is the grace period in seconds that the stop requests amount to.
	// 0 is unset. Invariant: once set it is at least 1 and never grows.
	Grace int64
	// Status is the last status override that a kill carried.
	Status StatusOverride
	// Waiters are to be released once the pod is down.
	Waiters []WaiterID
}

// Work is what an operation is given. The zero value is no work.
type Work struct {
	// Pod is the spec, nil for a runtime-only pod.
	Pod *v1.Pod
	// Runtime is what only the runtime knows. Nil where Pod is set.
	Runtime *pod.Pod
	// Type is meant for Sync.
	Type UpdateType
	// Exclusive reports that no other exclusive pod of the name may run.
	Exclusive bool
	// Grace is the grace period in seconds for Terminate; 0 is absent.
	// Invariant: 0, or at least 1.
	Grace int64
}

// IsZero reports whether there is nothing to do.
func (w Work) IsZero() bool { return w.Pod == nil && w.Runtime == nil }

// String prints the work without the pod: "create exclusive grace=5".
func (w Work) String() string {
	if w.IsZero() {
		return "-"
	}
	words := []string{w.Type.String()}
	if w.Runtime != nil {
		words = append(words, "runtime-only")
	}
	if w.Exclusive {
		words = append(words, "exclusive")
	}
	if w.Grace != 0 {
		words = append(words, fmt.Sprintf("grace=%d", w.Grace))
	}
	return strings.Join(words, " ")
}

// StatusOverride is what a kill wants the pod's status to say at its end (an
// eviction: Failed, Evicted, the message). The zero value overrides nothing.
// (The kubelet: PodStatusFunc.)
type StatusOverride struct {
	Phase           v1.PodPhase
	Reason, Message string
	// Eviction is why the pod is evicted, zero if it is not.
	Eviction event.Eviction
}

// WaiterID names someone who waits for a pod to be down.
type WaiterID uint64

// FullName is the name that exclusive pods compete for.
func (s State) FullName() string { return pod.FullName(s.Name, s.Namespace) }

// RuntimeOnly reports whether only the runtime knows the pod: no spec ever came.
func (s State) RuntimeOnly() bool {
	return s.Pod() == nil && (s.Active.Runtime != nil || s.Pending.Runtime != nil)
}

// Pod is the latest spec, nil if the worker has none.
func (s State) Pod() *v1.Pod { return s.latest().Pod }

// latest is the latest work that has a spec, else the zero Work.
func (s State) latest() Work {
	if s.Pending.Pod != nil {
		return s.Pending
	}
	if s.Active.Pod != nil {
		return s.Active
	}
	return Work{}
}

// reportedPod is the spec as SyncKnownPods reports it, nil if there is none: what
// the last operation saw, and only before the first one what waits.
func (s State) reportedPod() *v1.Pod {
	if !s.Active.IsZero() {
		return s.Active.Pod
	}
	return s.Pending.Pod
}

// waitsForName reports whether the pod is held back only by its name.
func (s State) waitsForName() bool {
	return s.Phase == Syncing && s.Running == OpNone && !s.Pending.IsZero()
}

// String prints one line, only what is set: "terminating killed
// run=terminate started seen grace=5".
func (s State) String() string {
	words := []string{s.Phase.String()}
	add := func(set bool, format string, args ...any) {
		if set {
			words = append(words, fmt.Sprintf(format, args...))
		}
	}
	add(s.Cause != CauseNone, "%s", s.Cause)
	add(s.Running != OpNone, "run=%s", s.Running)
	add(s.Cancelled, "cancelled")
	add(!s.Pending.IsZero(), "pending=(%s)", s.Pending)
	add(!s.Active.IsZero(), "active=(%s)", s.Active)
	add(s.Started, "started")
	add(s.TerminatingSeen, "seen")
	add(s.Deleted, "deleted")
	add(s.Evicted, "evicted")
	add(s.ObservedRuntime, "observed")
	add(s.Recreate, "recreate")
	add(s.Orphan, "orphan")
	add(s.HoldsName, "holds-name")
	add(s.Grace != 0, "grace=%d", s.Grace)
	add(s.Status != StatusOverride{}, "status=%s/%s", s.Status.Phase, s.Status.Reason)
	add(len(s.Waiters) > 0, "waiters=%v", s.Waiters)
	add(!s.LastError.IsZero(), "error=%q", s.LastError.Text)
	return strings.Join(words, " ")
}
