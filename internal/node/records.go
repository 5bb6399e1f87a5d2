package node

import (
	"errors"
	"io/fs"
	"log/slog"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/desired/manifest"
	"github.com/podctl/podctl/internal/node/poddir"
	"github.com/podctl/podctl/internal/node/render"
	"github.com/podctl/podctl/internal/owners/owner"
)

// records keeps the file of each pod that outlives the process beside the runtime, and
// what the table knows of it, the same. The entry's mutex recording is taken before
// that of the table.
type records struct {
	pods  *podTable
	facts *render.Node
	dirs  *poddir.Dirs
	locks *owner.Locks
	// instance is the name under which this podctl owns pods.
	instance string
	log      *slog.Logger
}

// ownerTag returns the owner of this node's records.
func (r *records) ownerTag() string { return poddir.OwnerTag(r.instance, r.locks.Runtime()) }

// withOwner returns the record with the pod and the owner that it belongs to.
func (r *records) withOwner(d Desired, rec poddir.Record) poddir.Record {
	rec.Owner, rec.Namespace, rec.Name = r.ownerTag(), d.Pod.Namespace, d.Pod.Name
	if manifestNow := poddir.Fingerprint(d.Document); rec.Manifest != manifestNow || rec.Identity == "" {
		rec.Manifest, rec.Identity = manifestNow, manifest.Identity(d.Document)
	}
	rec.RuntimeFingerprint = r.locks.Fingerprint()
	return rec
}

// of returns the entry's record, with its owner. e.recording is held.
func (r *records) of(e *entry) poddir.Record {
	r.pods.mu.Lock()
	defer r.pods.mu.Unlock()
	return r.withOwner(e.Desired, e.record)
}

// set makes a record the entry's. e.recording is held.
func (r *records) set(e *entry, rec poddir.Record) {
	r.pods.mu.Lock()
	defer r.pods.mu.Unlock()
	e.record = rec
}

// entry returns the pod's entry, nil if there is none.
func (r *records) entry(uid types.UID) *entry {
	r.pods.mu.Lock()
	defer r.pods.mu.Unlock()
	return r.pods.get(uid)
}

// update changes the pod's record and its file, unless change reports that nothing has
// changed.
func (r *records) update(uid types.UID, change func(*poddir.Record) bool) {
	e := r.entry(uid)
	if e == nil {
		return
	}
	e.recording.Lock()
	defer e.recording.Unlock()
	rec := r.of(e)
	if !change(&rec) {
		return
	}
	r.set(e, rec)
	if err := poddir.WriteRecord(r.facts.Dir(uid), rec); err != nil && !errors.Is(err, fs.ErrNotExist) {
		r.warn(uid, err)
	}
}

// warn reports a record that could not be written.
func (r *records) warn(uid types.UID, err error) {
	r.log.Warn("the pod may start again if podctl is killed", "uid", uid, "err", err)
}

// updateStopping records that the pod is being stopped, before anything is: a podctl
// that is killed meanwhile must not start it again by mistake.
func (r *records) updateStopping(uid types.UID, grace *int64) {
	r.update(uid, func(rec *poddir.Record) bool { return rec.Stop(time.Now(), grace) })
}

// updateEnded records how the pod ended, in case the runtime loses its containers.
func (r *records) updateEnded(uid types.UID, s v1.PodStatus) {
	r.update(uid, func(rec *poddir.Record) bool {
		if rec.Phase == s.Phase {
			return false
		}
		rec.Phase, rec.Reason, rec.Message = s.Phase, s.Reason, s.Message
		rec.SetTerminated(&s)
		return true
	})
}

// updateTerminated records how the containers ended of a pod that has ended or stays stopped.
func (r *records) updateTerminated(uid types.UID, s v1.PodStatus) {
	r.update(uid, func(rec *poddir.Record) bool {
		if rec.Phase == "" && !rec.StayStopped {
			return false
		}
		rec.SetTerminated(&s)
		return true
	})
}

// updateReady records whether a pod is ready whose readiness is probed, when that changes: a kubelet has it from
// the API server.
func (r *records) updateReady(p *v1.Pod, s v1.PodStatus) {
	probed := func(c v1.Container) bool { return c.ReadinessProbe != nil }
	if !slices.ContainsFunc(p.Spec.Containers, probed) && !slices.ContainsFunc(p.Spec.InitContainers, probed) {
		return
	}
	r.update(p.UID, func(rec *poddir.Record) bool {
		before := rec.Ready != nil
		rec.Ready = nil
		for _, c := range s.Conditions {
			if c.Type == v1.PodReady && c.Status == v1.ConditionTrue {
				rec.Ready = &c
			}
		}
		return before != (rec.Ready != nil)
	})
}

// updateManifest records the version of its manifest by which the pod is run now.
func (r *records) updateManifest(uid types.UID) {
	r.update(uid, func(*poddir.Record) bool { return true })
}

// create writes the pod's record, and its directory if that is missing.
func (r *records) create(uid types.UID) error {
	e := r.entry(uid)
	if e == nil {
		return nil // it is gone, and its record with it
	}
	e.recording.Lock()
	defer e.recording.Unlock()
	return poddir.CreateRecord(r.facts.Dir(uid), r.of(e))
}

// createWithOwner writes into the pod's directory which podctl runs the pod: once, and
// again if the record was deleted, with the directory or without, because no process
// could remove what the pod leaves behind. An earlier record of this runtime serves
// that as well, if none can be written.
func (r *records) createWithOwner(uid types.UID) error {
	e := r.entry(uid)
	if e == nil {
		return nil
	}
	e.recording.Lock()
	defer e.recording.Unlock()
	r.pods.mu.Lock()
	isOwner, write := e.record.Owner == r.ownerTag(), poddir.SignRecord
	if !e.record.IsZero() {
		write = poddir.CreateRecord // what it says must not be lost
	}
	r.pods.mu.Unlock()
	if isOwner && poddir.HasRecord(r.facts.Dir(uid)) {
		return nil
	}
	rec := r.of(e)
	err := write(r.facts.Dir(uid), rec)
	if _, taken := errors.AsType[*poddir.TakenError](err); taken {
		r.dirs.Own(uid) // another runtime's pod of the UID has just begun
		err = write(r.facts.Dir(uid), rec)
	}
	if err == nil {
		r.set(e, rec)
		return nil
	}
	if poddir.ReadRecord(r.facts.Dir(uid)).Runtime() == r.locks.Runtime() {
		r.log.Warn("write owner of pod directory", "uid", uid, "err", err)
		return nil
	}
	return err
}
