package poddir

import (
	"crypto/sha256"
	"encoding/hex"
	"reflect"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/desired/manifest"
	"github.com/podctl/podctl/internal/pod"
)

// Record is what the runtime cannot hold of a pod: that it was asked to stop,
// and how it ended. The zero value is a pod that was not.
type Record struct {
	// Owner is the instance that wrote it and its runtime: see OwnerTag.
	Owner string `json:"owner,omitempty"`
	// RuntimeFingerprint is that of the runtime, by whatever endpoint it is reached; "" if it
	// could not be determined.
	RuntimeFingerprint string `json:"runtimeFingerprint,omitempty"`
	// Namespace and Name are the pod's.
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	// Manifest is the fingerprint of the document that the pod ran by.
	Manifest string `json:"manifest,omitempty"`
	// Identity is manifest.Identity of that document; "" in a record of an older podctl.
	Identity string `json:"identity,omitempty"`
	// StopRequested is when a stop was first requested; zero if it never was.
	StopRequested time.Time `json:"stopRequested,omitzero"`
	// GraceSeconds is the grace that was given, counted from StopRequested, nil
	// if none was.
	GraceSeconds *int64 `json:"graceSeconds,omitempty"`
	// Resources are what the pod was resized to, nil if it never was.
	Resources *pod.Allocation `json:"resources,omitempty"`
	// Debug are the ephemeral containers that podctl debug added.
	Debug []v1.EphemeralContainer `json:"debug,omitempty"`
	// Conditions are those of the pod that podctl condition set.
	Conditions []v1.PodCondition `json:"conditions,omitempty"`
	// Ready is the Ready condition while it is True, of a pod whose readiness is probed: the next
	// podctl has no result of a probe yet.
	Ready *v1.PodCondition `json:"ready,omitempty"`
	// StayStopped: podctl stop stopped the pod; it stays stopped until its manifest changes
	// or podctl start runs it.
	StayStopped bool `json:"held,omitempty"`
	// Phase is Succeeded or Failed once the pod has ended, else "".
	Phase   v1.PodPhase `json:"phase,omitempty"`
	Reason  string      `json:"reason,omitempty"`
	Message string      `json:"message,omitempty"`
	// InitContainers and Containers are those that have terminated, of a pod that has ended or
	// stays stopped: how, the runtime may forget.
	InitContainers []v1.ContainerStatus `json:"initContainers,omitempty"`
	Containers     []v1.ContainerStatus `json:"containers,omitempty"`
}

// SetTerminated records the containers of a status that have terminated.
func (r *Record) SetTerminated(s *v1.PodStatus) {
	r.InitContainers, r.Containers = terminated(s.InitContainerStatuses), terminated(s.ContainerStatuses)
}

func terminated(all []v1.ContainerStatus) (ended []v1.ContainerStatus) {
	for _, c := range all {
		if c.State.Terminated != nil {
			ended = append(ended, v1.ContainerStatus{
				Name: c.Name, State: v1.ContainerState{Terminated: c.State.Terminated.DeepCopy()}, RestartCount: c.RestartCount,
				ContainerID: c.ContainerID, Image: c.Image, ImageID: c.ImageID,
			})
		}
	}
	return ended
}

// WithStatus returns the pod with what the record has of its status: how it ended, or that it was ready.
func (r Record) WithStatus(p *v1.Pod) *v1.Pod {
	if r.Phase == "" && r.Containers == nil && r.InitContainers == nil && r.Ready == nil {
		return p
	}
	p = p.DeepCopy()
	if r.Phase != "" {
		p.Status.Phase, p.Status.Reason, p.Status.Message = r.Phase, r.Reason, r.Message
	}
	if r.Ready != nil {
		p.Status.Conditions = append(p.Status.Conditions, *r.Ready)
	}
	p.Status.InitContainerStatuses, p.Status.ContainerStatuses = r.InitContainers, r.Containers
	return p
}

// IsZero reports whether nothing is recorded.
func (r Record) IsZero() bool { return reflect.DeepEqual(r, Record{}) }

// WithoutRuntimeState returns the record to use if the runtime has nothing of the pod: the record
// itself if it is of this document, or of an ended pod with the same identity; else one that only
// requests a stop.
func (r Record) WithoutRuntimeState(document []byte, identity string, now time.Time) Record {
	same := r.Manifest == Fingerprint(document) || r.Ended() && r.Identity == identity
	if r.Stopped() && !same {
		return Record{StopRequested: now}
	}
	return r
}

// Ended reports whether the pod has ended for good, by itself or because it was evicted:
// podctl start and another pod of its name excepted, nothing of it runs again.
func (r Record) Ended() bool { return r.Phase != "" && r.StopRequested.IsZero() }

// Fingerprint is what distinguishes documents in a record. Their status is not: it says
// nothing of what is desired.
func Fingerprint(document []byte) string {
	sum := sha256.Sum256(manifest.WithoutStatus(document))
	return hex.EncodeToString(sum[:8])
}

// Stop records that the pod is being stopped, with a grace in seconds that
// counts from now, nil for its own. It reports whether the record has changed. A
// stop that was recorded before is never prolonged.
func (r *Record) Stop(now time.Time, grace *int64) (changed bool) {
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

// GraceLeft returns what remains at now of the recorded grace, at least a
// second; nil if none was recorded.
func (r Record) GraceLeft(now time.Time) *int64 {
	if r.GraceSeconds == nil {
		return nil
	}
	left := max(1, *r.GraceSeconds-r.elapsed(now))
	return &left
}

// elapsed returns the seconds since the stop was requested: 0 if that is in the
// future because the clock was set back, so that the remaining grace never grows.
func (r Record) elapsed(now time.Time) int64 {
	return max(0, int64(now.Sub(r.StopRequested)/time.Second))
}

// Stopped reports whether the pod may not run any more.
func (r Record) Stopped() bool { return !r.StopRequested.IsZero() || r.Phase != "" }
