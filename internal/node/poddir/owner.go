package poddir

import (
	"strings"
	"time"
)

// OwnerTag is the Owner of a record: instances of one name may live on several
// runtimes.
func OwnerTag(instance, runtime string) string { return instance + "@" + runtime }

// Runtime returns the id of the runtime on which the record was written, "" if it
// is not signed.
func (r Record) Runtime() string {
	at := strings.LastIndexByte(r.Owner, '@')
	if at < 0 {
		return ""
	}
	return r.Owner[at+1:]
}

// IsElsewhere reports whether the record is that of a pod on another runtime than
// the one of the id and fingerprint.
func (r Record) IsElsewhere(runtime, fingerprint string) bool {
	same := r.RuntimeFingerprint != "" && r.RuntimeFingerprint == fingerprint
	return r.Runtime() != "" && r.Runtime() != runtime && !same
}

// Owned is what a pod's directory says of the pod that it was made for.
type Owned struct {
	// Instance is the podctl that wrote it, on the runtime of that id (see
	// owner.Locks.Runtime).
	Instance, Runtime string
	// Namespace and Name are the pod's.
	Namespace, Name string
	// StayStopped: podctl stop stopped the pod, and it stays stopped.
	StayStopped bool
}

// ReadOwner reads it; what is not written there, or cannot be read, is "".
func ReadOwner(podDir string) Owned {
	r := ReadRecord(podDir)
	runtime := r.Runtime()
	if runtime == "" {
		return Owned{}
	}
	instance := strings.TrimSuffix(r.Owner, "@"+runtime)
	return Owned{Instance: instance, Runtime: runtime, Namespace: r.Namespace, Name: r.Name, StayStopped: r.StayStopped}
}

// ReadStop reads when the pod was asked to stop, and with which grace in
// seconds, nil for its own. ok is false if it was not, or has ended by itself.
func ReadStop(podDir string) (requested time.Time, grace *int64, ok bool) {
	r := ReadRecord(podDir)
	return r.StopRequested, r.GraceSeconds, !r.StopRequested.IsZero() && r.Phase == ""
}
