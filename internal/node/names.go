package node

import (
	"log/slog"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/node/lifecycle"
	"github.com/podctl/podctl/internal/owners/owner"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
)

// A full name is held from before its first pod starts until its last one has
// left nothing behind. Only the loop claims and releases names.

// index keeps byName: e is the pod's entry so far, nil if there is none. t.mu is held.
func (t *podTable) index(uid types.UID, e *entry, after lifecycle.Entry) {
	var before *v1.Pod
	if e != nil {
		before = e.Pod
	}
	if before == after.Pod {
		return
	}
	if before != nil {
		name := pod.FullNameOf(before)
		others := slices.DeleteFunc(t.byName[name], func(u types.UID) bool { return u == uid })
		if t.byName[name] = others; len(others) == 0 {
			delete(t.byName, name)
		}
	}
	if after.Pod != nil {
		name := pod.FullNameOf(after.Pod)
		t.byName[name] = append(t.byName[name], uid)
	}
}

// nameLocks keeps the locks of the pods' full names. Only the loop uses it.
type nameLocks struct {
	pods   *podTable
	locks  *owner.Locks
	events *eventSender
	host   Host
	log    *slog.Logger
	// lost: locks could not be restored, which was reported.
	lost bool
}

// release releases a full name that no pod needs.
func (l *nameLocks) release(fullName string) {
	l.pods.mu.Lock()
	defer l.pods.mu.Unlock()
	if l.pods.holdsName(fullName) {
		return
	}
	if err := l.locks.Release(fullName); err != nil {
		l.log.Warn("release pod name", "pod", fullName, "err", err)
	}
}

// heartbeat leaves a sign of life for a podctl that finds the node's pods after it was
// killed (podctl orphans).
func (l *nameLocks) heartbeat() {
	l.restore()
	if err := l.locks.WriteHeartbeat(time.Now()); err != nil {
		l.log.Debug("date the instance's lock", "err", err)
	}
}

// restore takes the locks again whose files were deleted: without them any
// podctl could take the node's pods over.
func (l *nameLocks) restore() {
	restored, err := l.locks.Restore()
	if restored {
		l.events.emit(event.Event{Reason: event.RunDirectoryRestored, Warning: true})
		l.host.RunDirRestored()
	}
	if err != nil && !l.lost {
		l.events.emit(event.Event{Reason: event.RunDirectoryLost, Warning: true, Failure: &event.Failure{Layer: event.LayerHost, Text: err.Error()}})
	}
	l.lost = err != nil
}
