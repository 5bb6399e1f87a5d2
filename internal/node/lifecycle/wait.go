package lifecycle

import "time"

// Reason is why a pod waits. The zero value is Pending.
type Reason uint8

const (
	// Pending: it was not tried yet.
	Pending Reason = iota
	// NameHeld: another podctl manages a pod of that name.
	NameHeld
	// LockFailed: the name's lock could not be taken.
	LockFailed
	// ForeignPod: the runtime runs a pod of that name or UID that podctl did not
	// create.
	ForeignPod
	// HostPortInUse: a pod of another podctl of this host has a host port of the pod's.
	HostPortInUse
	// DevicesInUse: other pods have the devices that the pod asks for.
	DevicesInUse
	// DirectoryInUse: the pod's directory is that of a pod on another runtime.
	DirectoryInUse
	// RuntimeUnavailable: the runtime does not say what has to be known first.
	RuntimeUnavailable
	// PredecessorUnknown: what the runtime holds under this name or UID could not be
	// read, or is being stopped.
	PredecessorUnknown
	// MakingRoom: pods are being evicted for a critical one.
	MakingRoom
	// RemovalFailed: what an ended pod left behind could not be removed.
	RemovalFailed
)

var reasonNames = [...]string{
	Pending: "Pending", NameHeld: "NameHeld", LockFailed: "LockFailed", ForeignPod: "ForeignPod", DirectoryInUse: "DirectoryInUse", HostPortInUse: "HostPortInUse",
	DevicesInUse:       "DevicesInUse",
	RuntimeUnavailable: "RuntimeUnavailable", PredecessorUnknown: "PredecessorUnknown", MakingRoom: "MakingRoom", RemovalFailed: "RemovalFailed",
}

func (r Reason) String() string { return name("Reason", reasonNames[:], uint8(r)) }

// Blocked reports whether something is in the way that podctl does not end by
// itself. Such a wait is retried with a back-off.
func (r Reason) Blocked() bool {
	switch r {
	case NameHeld, LockFailed, ForeignPod, HostPortInUse, DevicesInUse, DirectoryInUse, RemovalFailed:
		return true
	case Pending, RuntimeUnavailable, PredecessorUnknown, MakingRoom:
	}
	return false
}

const (
	// RetryPeriod is how long a pod waits before it is tried again: the node's
	// housekeeping. A pod that is blocked waits twice as long each time.
	RetryPeriod = 2 * time.Second
	// MaxRetryPeriod is how long a pod that is blocked waits at most.
	MaxRetryPeriod = 10 * time.Second
)

// Wait is why a pod waits and until when. The zero value is that of a pod that
// is due now.
type Wait struct {
	Reason Reason
	// Err is the cause, nil if there is none.
	Err error
	// Tries counts the tries that ended with this reason.
	Tries int
	// RetryAt is when it is tried again, at the latest at the first Reconcile after
	// that. Invariant: at most MaxRetryPeriod after the last try.
	RetryAt time.Time
}

// isDue reports whether the pod is tried now. A wait that podctl itself ends is tried at
// each Reconcile: its cause may be gone.
func (w Wait) isDue(now time.Time) bool { return !w.Reason.Blocked() || !now.Before(w.RetryAt) }

// next returns the wait after one more try without success.
func (w Wait) next(now time.Time, reason Reason, err error) Wait {
	next := Wait{Reason: reason, Err: err, Tries: 1}
	if reason == w.Reason {
		next.Tries += w.Tries
	}
	period := RetryPeriod
	for try := 1; reason.Blocked() && try < next.Tries && period < MaxRetryPeriod; try++ {
		period *= 2
	}
	next.RetryAt = now.Add(min(period, MaxRetryPeriod))
	return next
}

// differs reports whether the reason or the cause is another one than before.
func (w Wait) differs(before Wait) bool {
	return w.Reason != before.Reason || errorText(w.Err) != errorText(before.Err)
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
