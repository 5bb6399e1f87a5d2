package node

import (
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/event"
	"github.com/podctl/podctl/internal/lifecycle"
	"github.com/podctl/podctl/internal/pod"
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

// release releases a full name that no pod needs.
func (n *Node) release(fullName string) {
	n.pods.mu.Lock()
	defer n.pods.mu.Unlock()
	if n.pods.holdsName(fullName) {
		return
	}
	if err := n.locks.Release(fullName); err != nil {
		n.log.Warn("release pod name", "pod", fullName, "err", err)
	}
}

// beat leaves a sign of life for a podctl that finds the node's pods after it was
// killed (podctl orphans).
func (n *Node) beat() {
	n.restoreLocks()
	if err := n.locks.Beat(time.Now()); err != nil {
		n.log.Debug("date the instance's lock", "err", err)
	}
}

// restoreLocks takes the locks again whose files were deleted: without them any
// podctl could take the node's pods over.
func (n *Node) restoreLocks() {
	restored, err := n.locks.Restore()
	if restored {
		n.runtimeEvent(event.Event{Reason: event.RunDirRestored, Warning: true})
		if n.opts.RunDirRestored != nil {
			n.opts.RunDirRestored()
		}
	}
	if err != nil && !n.locksLost {
		n.runtimeEvent(event.Event{Reason: event.RunDirLost, Warning: true, Failure: &event.Failure{Layer: event.LayerHost, Text: err.Error()}})
	}
	n.locksLost = err != nil
}
