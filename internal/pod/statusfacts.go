package pod

import (
	"cmp"

	v1 "k8s.io/api/core/v1"
)

// The statuses that podctl adds to kubectl's.
const (
	StatusRejected    = "Rejected"
	StatusTerminating = "Terminating"
	StatusStopped     = "Stopped"
	StatusRemoved     = "Removed"
)

// PhaseExited is the phase of a pod that does not run, where it is not known whether it
// has succeeded.
const PhaseExited v1.PodPhase = "Exited"

// StatusFacts are what decides the STATUS and the phase of a pod, whoever manages it.
type StatusFacts struct {
	// Containers is what its containers, or its own reason, make of STATUS: Running,
	// CrashLoopBackOff, Completed, Init:1/2, Evicted; "" if that is not known.
	Containers string
	// Phase is the phase in its status, "" if that is not known.
	Phase v1.PodPhase
	// Rejected: its podctl process does not run it. WaitReason is what that process waits
	// for, "" if it does not try again.
	Rejected   bool
	WaitReason string
	// Terminating: it was asked to stop, and is not yet cleaned up.
	Terminating bool
	// Stopped: podctl stop stopped it. Finished: it has ended and was cleaned up.
	Stopped, Finished bool
	// Removed: the runtime holds nothing of it.
	Removed bool
}

// Decide returns the STATUS that every command shows, and the phase of -o json.
func (f StatusFacts) Decide() (status, phase string) {
	phase = cmp.Or(string(f.Phase), string(v1.PodPending))
	switch ended := IsTerminal(f.Phase); {
	case f.Rejected && f.WaitReason == "":
		return StatusRejected, StatusRejected
	case f.Rejected:
		return f.WaitReason, phase
	case f.Terminating && !ended:
		return StatusTerminating, StatusTerminating
	case f.Stopped && (ended || f.Finished) && f.Removed:
		return StatusRemoved, phase
	case f.Stopped && (ended || f.Finished):
		return StatusStopped, phase
	}
	return cmp.Or(f.Containers, phase), phase
}
