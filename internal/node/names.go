package node

import (
	"time"

	"github.com/podctl/podctl/internal/event"
)

// A full name is held from before its first pod starts until its last one has
// left nothing behind. Only the loop claims and releases names.

// release releases a full name that no pod needs.
func (n *Node) release(fullName string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, e := range n.entries {
		if e.HoldsName() && e.FullName() == fullName {
			return
		}
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
