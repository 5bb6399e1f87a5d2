package node

import (
	"strings"
	"time"
)

// StopOnRecord reads from a pod's directory when the pod was asked to stop, and
// with which grace in seconds, nil for its own. ok is false if nobody asked, or
// it has ended by itself.
func StopOnRecord(podDir string) (requested time.Time, grace *int64, ok bool) {
	r := readRecord(podDir)
	return r.StopRequested, r.GraceSeconds, !r.StopRequested.IsZero() && r.Phase == ""
}

// Recorded is what a pod's directory says of the pod it was made for.
type Recorded struct {
	// Instance is the podctl that wrote it, on the runtime of that id (see
	// owner.Locks.Runtime).
	Instance, Runtime string
	// Namespace and Name are the pod's.
	Namespace, Name string
	// Held: podctl stop ended the pod, and it is to stay so.
	Held bool
}

// PodOnRecord reads it; what is not written there, or cannot be read, is "".
func PodOnRecord(podDir string) Recorded {
	r := readRecord(podDir)
	at := strings.LastIndexByte(r.Owner, '@')
	if at < 0 {
		return Recorded{}
	}
	return Recorded{Instance: r.Owner[:at], Runtime: r.Owner[at+1:], Namespace: r.Namespace, Name: r.Name, Held: r.Held}
}
