package node

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/podrecord"
)

// DirectoryError says that a pod's directory is that of a pod on another
// runtime, because both are of one UID: of one manifest, for instance.
type DirectoryError struct {
	Dir string
	// Owner is the podctl and the runtime that it belongs to.
	Owner string
}

func (e *DirectoryError) Error() string {
	return fmt.Sprintf("the directory %s belongs to a pod on another runtime (podctl %s)", e.Dir, e.Owner)
}

// Hint says how to resolve it.
func (e *DirectoryError) Hint() string {
	return "give this runtime directories of its own with --root and --log-dir, or remove the other pod"
}

// checkDirectory returns why the pod's directory and what is recorded in it may
// not be used: it is another runtime's. If this runtime has the pod, and no podctl
// manages it by the other runtime's id, then that id is another path to the same
// runtime.
func (n *Node) checkDirectory(d Desired, rec podrecord.Record, adopt bool) error {
	other := rec.Runtime()
	if other == "" || other == n.locks.Runtime() {
		return nil
	}
	if adopt {
		if held, err := n.locks.HeldOn(other, d.FullName()); err == nil && !held {
			return nil
		}
	}
	return &DirectoryError{Dir: n.opts.Facts.Dir(d.UID()), Owner: rec.Owner}
}

// hostCgroups signs a pod's directory before anything of the pod is on the host,
// so that what a podctl leaves that is killed can be told from others' pods.
type hostCgroups struct {
	Cgroups
	n *Node
}

// Ensure implements podsync.Cgroups.
func (c hostCgroups) Ensure(ctx context.Context, p *v1.Pod) error {
	c.n.sign(p)
	return c.Cgroups.Ensure(ctx, p)
}

// sign writes who runs the pod into its directory, once.
func (n *Node) sign(p *v1.Pod) {
	n.mu.Lock()
	e := n.entryOf(p.UID)
	n.mu.Unlock()
	if e == nil {
		return
	}
	e.recording.Lock()
	defer e.recording.Unlock()
	n.mu.Lock()
	signed, write := e.record.Owner == n.ownerTag(), podrecord.Sign
	if e.record != (podrecord.Record{}) {
		write = podrecord.Write // what it says must not be lost
	}
	n.mu.Unlock()
	if signed {
		return
	}
	rec := n.recordOf(e)
	if err := write(n.opts.Facts.Dir(p.UID), rec); err != nil {
		n.log.Warn("sign pod directory", "uid", p.UID, "err", err)
		return
	}
	n.setRecord(e, rec)
}
