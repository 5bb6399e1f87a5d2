package lifecycle

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

// Desired is one pod that a source wants to run. What it points to is shared
// and never changed.
type Desired struct {
	// Pod is defaulted and has its UID.
	Pod *v1.Pod
	// Document is the pod as it was read, before defaulting: what its sandbox
	// will carry.
	Document []byte
	// Workload identifies the workload of which it is a pod, "" if there is none.
	Workload string
}

// FullName is the name that pods compete for.
func (d Desired) FullName() string { return pod.FullNameOf(d.Pod) }

// UID is the pod's.
func (d Desired) UID() types.UID { return d.Pod.UID }

// Entry is one pod of the node, a value. The zero value is no pod.
type Entry struct {
	// Desired is the spec that the pod runs by; before it runs, the one that is
	// desired. Invariant: Pod is set unless Phase is None.
	Desired
	Phase Phase
	// Since is when Phase was entered.
	Since  time.Time
	Origin Origin
	// Wait is why it waits. Invariant: zero unless Waiting, Starting, or Stopping
	// or Removing after a removal that failed.
	Wait Wait
	// Rejection is why it was not admitted. Invariant: nil unless Rejected.
	Rejection error
	// Next is what is desired of the UID once this life is over, nil if nothing is.
	// Invariant: nil unless Leaving.
	Next *Desired
	// StopNext: podctl stop came before the (next) life of the pod began, which
	// therefore starts with StayStopped. Invariant: false if Rejected or Active, and if
	// Leaving without Next.
	StopNext bool
}

// Leaving reports whether this life of the pod is being ended.
func (e Entry) Leaving() bool {
	return e.Phase == Stopping || e.Phase == Removing || e.Phase == Removed
}

// IsDesired reports whether a source wants a pod of this UID.
func (e Entry) IsDesired() bool { return e.Phase != None && (!e.Leaving() || e.Next != nil) }

// IsUpToDate reports whether the pod is active by the version that is desired. Reconcile
// leaves it as it is while a worker knows it.
func (e Entry) IsUpToDate(desired Desired) bool {
	return e.Phase == Active && bytes.Equal(e.Document, desired.Document)
}

// HoldsName reports whether the pod needs its full name's lock.
func (e Entry) HoldsName() bool { return e.Phase == Starting || e.Phase == Active || e.Leaving() }

// String prints one line, only what is set: "waiting NameHeld tries=2 retry=4s".
func (e Entry) String() string {
	words := []string{e.Phase.String()}
	add := func(set bool, format string, args ...any) {
		if set {
			words = append(words, fmt.Sprintf(format, args...))
		}
	}
	add(e.Phase != None, "doc=%s", e.Document)
	add(e.Origin == Adopted, "adopted")
	if e.Phase == Waiting || e.Phase == Starting || e.Wait != (Wait{}) {
		add(true, "%s", e.Wait.Reason)
		add(e.Wait.Err != nil, "error=%q", errorText(e.Wait.Err))
		add(e.Wait.Tries > 0, "tries=%d retry=%s", e.Wait.Tries, e.Wait.RetryAt.Sub(e.Since))
	}
	add(e.Rejection != nil, "rejection=%q", errorText(e.Rejection))
	if e.Next != nil {
		add(true, "next=%s", e.Next.Document)
	}
	add(e.StopNext, "stop-next")
	return strings.Join(words, " ")
}
