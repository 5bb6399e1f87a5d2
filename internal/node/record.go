package node

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	v1 "k8s.io/api/core/v1"
)

// recordFile lies in the pod's directory.
const recordFile = "podctl.json"

// record is what the runtime cannot hold of a pod, because annotations are
// immutable: that it was asked to stop, and how it ended. It can only make a
// pod more stopped; one that cannot be read counts as absent.
type record struct {
	// Owner is the instance that wrote it, and on which runtime.
	Owner string `json:"owner,omitempty"`
	// Namespace and Name are the pod's.
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	// Manifest is the fingerprint of the document that the pod ran by.
	Manifest string `json:"manifest,omitempty"`
	// StopRequested is the time at which a stop was first asked for; zero if
	// it never was.
	StopRequested time.Time `json:"stopRequested,omitzero"`
	// GraceSeconds is the grace that was given, counted from StopRequested, nil
	// if none was.
	GraceSeconds *int64 `json:"graceSeconds,omitempty"`
	// Held: it was stopped to stay so, until its manifest changes or it is
	// started.
	Held bool `json:"held,omitempty"`
	// Phase is Succeeded or Failed once the pod has ended, else "".
	Phase   v1.PodPhase `json:"phase,omitempty"`
	Reason  string      `json:"reason,omitempty"`
	Message string      `json:"message,omitempty"`
}

// alone is what the record says where it is all that is left of a pod: it must
// be of this very document, else the pod merely has to go.
func (r record) alone(document []byte, now time.Time) record {
	if r.stopped() && r.Manifest != fingerprint(document) {
		return record{StopRequested: now}
	}
	return r
}

// adoption says what becomes of a pod that has the record.
func (r record) adoption() string {
	switch {
	case r.Held:
		return "the pod was stopped: it stays so until its manifest changes, or podctl start"
	case !r.StopRequested.IsZero():
		return "the pod was being stopped: it ends, and starts anew"
	case r.Phase != "":
		return "the pod has ended before: it does not run again"
	}
	return "the runtime already holds the pod: it goes on"
}

// fingerprint tells documents apart.
func fingerprint(document []byte) string {
	sum := sha256.Sum256(document)
	return hex.EncodeToString(sum[:8])
}

// stop takes note that the pod is being stopped, with a grace that counts from
// now, nil for its own. It tells whether that is news.
func (r *record) stop(now time.Time, grace *int64) (changed bool) {
	if r.Phase != "" {
		return false
	}
	if r.StopRequested.IsZero() {
		r.StopRequested, changed = now, true
	}
	if grace == nil {
		return changed
	}
	total := *grace + r.elapsed(now)
	if r.GraceSeconds != nil && *r.GraceSeconds <= total {
		return changed
	}
	r.GraceSeconds = &total
	return true
}

// graceLeft is what remains at now of the grace that the record gives, at
// least a second; nil where it gives none.
func (r record) graceLeft(now time.Time) *int64 {
	if r.GraceSeconds == nil {
		return nil
	}
	left := max(1, *r.GraceSeconds-r.elapsed(now))
	return &left
}

// elapsed are the seconds since the stop was asked for: none, where that is in
// the future because the clock was set back. What is left of a grace does not
// grow by that.
func (r record) elapsed(now time.Time) int64 {
	return max(0, int64(now.Sub(r.StopRequested)/time.Second))
}

// stopped tells whether the pod may not run any more.
func (r record) stopped() bool { return !r.StopRequested.IsZero() || r.Phase != "" }

// readRecord reads the record in a pod's directory; an absent or unreadable
// one is the zero record.
func readRecord(podDir string) record {
	var r record
	b, err := os.ReadFile(filepath.Join(podDir, recordFile))
	if err != nil || json.Unmarshal(b, &r) != nil {
		return record{}
	}
	return r
}

// writeRecord replaces the record in a pod's directory in one step: whoever
// reads it, after a crash too, sees the old one or the new one. A pod without
// a directory, which is made before all else, has nothing to remember: the error
// is then fs.ErrNotExist.
func writeRecord(podDir string, r record) error {
	b, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("write pod record: %w", err)
	}
	f, err := os.CreateTemp(podDir, recordFile+".*")
	if err != nil {
		return fmt.Errorf("write pod record: %w", err)
	}
	_, err = f.Write(append(b, '\n'))
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(podDir, recordFile))
	}
	if err != nil {
		_ = os.Remove(f.Name()) // err says enough
		return fmt.Errorf("write pod record: %w", err)
	}
	return nil
}
