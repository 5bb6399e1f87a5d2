package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/podrecord"
	"github.com/podctl/podctl/internal/worker"
)

// ErrNoPod: the node has to do with no pod of that name.
var ErrNoPod = errors.New("no such pod")

// Stop ends a pod although a source goes on desiring it, and keeps it so: also
// across restarts of podctl, until its manifest changes or Start. grace, in
// seconds, shortens its own; nil leaves it. Stop returns when nothing of the
// pod, or of one before it of that name, runs any more; that ctx ends before does
// not call the stop off. A pod that is stopped already stays so. The error is
// ErrNoPod, or says why the stop would not outlive podctl.
func (n *Node) Stop(ctx context.Context, namespace, name string, grace *int64) error {
	p, err := n.hold(namespace, name, grace)
	if err != nil {
		return err
	}
	if n.workers.IsPodKnown(p.UID) { // else start, which is about to, sees the hold
		n.workers.Kill(p, true, worker.KillOptions{Grace: shorter(p, grace)})
	}
	n.changed()
	return n.untilDown(ctx, p)
}

// hold takes note that the pod is not to run, in its directory first.
func (n *Node) hold(namespace, name string, grace *int64) (*v1.Pod, error) {
	n.mu.Lock()
	e, err := n.named(namespace, name)
	n.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if e.rejected != nil {
		return nil, fmt.Errorf("pod %s does not run: %w", pod.DisplayName(namespace, name), e.rejected)
	}
	e.recording.Lock() // keeps the directory, too: see removeDown
	defer e.recording.Unlock()
	n.mu.Lock()
	leaving := e.leaving() || n.entryOf(e.uid()) != e
	if leaving {
		n.held[e.uid()] = true // of its next life, if there is one
	}
	n.mu.Unlock()
	if leaving {
		return e.want.Pod, nil
	}
	rec := n.recordOf(e)
	rec.Held = true
	rec.Stop(time.Now(), shorter(e.want.Pod, grace))
	if err := podrecord.Create(n.opts.Facts.Dir(e.uid()), rec); err != nil {
		return nil, err
	}
	n.setRecord(e, rec)
	return e.want.Pod, nil
}

// signed is a record that says of which pod and whose it is.
func (n *Node) signed(e *entry, r podrecord.Record) podrecord.Record {
	r.Owner, r.Namespace, r.Name = n.ownerTag(), e.want.Pod.Namespace, e.want.Pod.Name
	r.Manifest = podrecord.Fingerprint(e.want.Document)
	return r
}

// takeHold tells whether the pod that is about to start was stopped while an
// earlier life of it was ending.
func (n *Node) takeHold(uid types.UID) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	defer delete(n.held, uid)
	return n.held[uid]
}

// dropHold forgets that the next life of a pod was stopped, if there is none:
// whoever has its uid later was not stopped.
func (n *Node) dropHold(uid types.UID) {
	want, _ := n.wanted()
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, wanted := want[uid]; !wanted {
		delete(n.held, uid)
	}
}

// stopHeld stops a pod that was let in and that Stop took hold of before it had
// a worker.
func (n *Node) stopHeld(p *v1.Pod) {
	n.mu.Lock()
	e := n.entryOf(p.UID)
	held := e != nil && e.record.Held
	var grace *int64
	if held {
		grace = e.record.GraceLeft(time.Now())
	}
	n.mu.Unlock()
	if held {
		n.workers.Kill(p, true, worker.KillOptions{Grace: grace})
	}
}

// Start lets a pod run again that was stopped, or that has ended. It returns
// at once. The error is ErrNoPod, or a *RunningError where there is nothing to
// start.
func (n *Node) Start(_ context.Context, namespace, name string) error {
	n.mu.Lock()
	e, err := n.named(namespace, name)
	n.mu.Unlock()
	if err != nil {
		return err
	}
	if e.rejected != nil {
		return e.rejected
	}
	e.recording.Lock()
	defer e.recording.Unlock()
	n.mu.Lock()
	old, ended, leaving := e.record, e.stage == worker.Finished, e.leaving()
	if leaving {
		delete(n.held, e.uid()) // it starts when its earlier life is over
	}
	n.mu.Unlock()
	switch {
	case leaving:
		return nil
	case !old.Held && !pod.IsTerminal(old.Phase) && !ended:
		return &RunningError{Pod: pod.DisplayName(namespace, name)}
	}
	// A podctl that is killed from here on starts the pod, because what was
	// stopped and is not held starts anew.
	rec := n.signed(e, podrecord.Record{StopRequested: time.Now(), GraceSeconds: old.GraceSeconds})
	if !old.StopRequested.IsZero() {
		rec.StopRequested = old.StopRequested
	}
	if err := podrecord.Write(n.opts.Facts.Dir(e.uid()), rec); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	n.mu.Lock()
	wanted := e.desired
	e.record, e.fresh = rec, wanted
	spec := e.want.Pod
	n.mu.Unlock()
	if !wanted {
		return nil // by now; its next life is not held
	}
	n.workers.Update(worker.Update{Pod: spec, Type: worker.TypeCreate, Exclusive: true})
	n.poke()
	n.changed()
	return nil
}

// RunningError says that a pod that was to be started runs already.
type RunningError struct{ Pod string }

func (e *RunningError) Error() string { return fmt.Sprintf("pod %s is not stopped", e.Pod) }

// named is the entry of the name: of several the desired one, which the others
// make room for. n.mu is held.
func (n *Node) named(namespace, name string) (*entry, error) {
	var found *entry
	for _, e := range n.entries {
		if e.want.Pod.Namespace == namespace && e.want.Pod.Name == name && (found == nil || e.desired && !found.desired) {
			found = e
		}
	}
	if found == nil {
		return nil, fmt.Errorf("%w: %s", ErrNoPod, pod.DisplayName(namespace, name))
	}
	return found, nil
}

// untilDown waits until nothing of the pod runs, nor of older ones that it
// waits for.
func (n *Node) untilDown(ctx context.Context, p *v1.Pod) error {
	return n.until(ctx, func() bool { return n.isDown(p) })
}

// isDown tells whether nothing runs of any pod of the pod's name.
func (n *Node) isDown(p *v1.Pod) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, e := range n.entries {
		down := e.rejected != nil || e.stage == worker.Terminated || e.stage == worker.Finished ||
			e.leaving() && !n.workers.IsPodKnown(e.uid()) // its remains are removed
		if !down && e.fullName() == pod.FullNameOf(p) {
			return false
		}
	}
	return true
}
