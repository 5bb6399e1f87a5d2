package node

import "time"

// StopOnRecord reads from a pod's directory when the pod was asked to stop, and
// with which grace in seconds, nil for its own. ok is false if nobody asked, or
// it has ended by itself.
func StopOnRecord(podDir string) (requested time.Time, grace *int64, ok bool) {
	r := readRecord(podDir)
	return r.StopRequested, r.GraceSeconds, !r.StopRequested.IsZero() && r.Phase == ""
}
