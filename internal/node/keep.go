package node

import (
	"context"

	"github.com/podctl/podctl/internal/node/lifecycle"
	"github.com/podctl/podctl/internal/pod"
)

// SetPartly is Set of a source that is not known in full: it could not be read
// yet, or a part of it is invalid. What it wants beside may be what this
// instance runs already, from when it could be read: such pods are adopted and
// keep running, instead of being stopped because no source desires them.
func (n *Node) SetPartly(source string, pods []Desired, objects *pod.Objects) {
	n.set(source, pods, objects, true)
}

// isPartial reports whether any source is not known in full.
func (d *desired) isPartial() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.partial) > 0
}

// keepPod makes a pod desired for as long as some source is not known in full.
func (d *desired) keepPod(want Desired) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.kept, d.whole = append(d.kept, want), nil
}

// keepPodsOfPartialSources makes this instance's pods that no source desires desired, if
// they may be of a source that is not known in full, and does not stop them. It returns
// how many those are.
func (n *Node) keepPodsOfPartialSources(ctx context.Context, found *lifecycle.Findings) (unread int) {
	if !n.desired.isPartial() {
		return 0
	}
	stop := found.Stop
	found.Stop = nil
	for _, p := range stop {
		if !found.NotDesired[p.UID] {
			found.Stop = append(found.Stop, p) // another pod of its name is desired
			continue
		}
		unread++
		d, err := n.manifestOf(ctx, p)
		if err != nil {
			n.log.Warn("leave a pod alone that may still be wanted", "pod", p.FullName(), "uid", p.UID, "err", err)
			continue
		}
		n.desired.keepPod(d)
		n.wake.signal()
	}
	return unread
}
