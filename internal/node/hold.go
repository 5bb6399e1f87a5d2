package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/desired/manifest"
	"github.com/podctl/podctl/internal/node/lifecycle"
	"github.com/podctl/podctl/internal/node/poddir"
	"github.com/podctl/podctl/internal/node/podsync"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/sys/hint"
	"github.com/podctl/podctl/internal/worker"
)

// ErrNoPod: the node has no pod of that name.
var ErrNoPod = errors.New("no such pod")

// ErrNotStopped: a pod that was to be started runs already.
var ErrNotStopped = errors.New("is not stopped")

// Stop stops a pod although a source still desires it, and keeps it so: also
// across restarts of podctl, until its manifest changes or Start. grace, in
// seconds, shortens its own; nil leaves it. Stop returns when nothing of the
// pod, or of one before it of that name, runs any more; that ctx ends before does
// not cancel the stop. A pod that is stopped already stays so. The error is
// ErrNoPod, a *NotRunningError, or says why the stop would not outlive podctl.
func (n *Node) Stop(ctx context.Context, namespace, name string, grace *int64) error {
	p, err := n.requestStop(ctx, namespace, name, grace)
	unrecorded, _ := errors.AsType[*UnrecordedError](err)
	if err != nil && unrecorded == nil {
		return err
	}
	if n.workers.IsPodKnown(p.UID) { // else startPod, which follows, sees the record
		n.workers.Kill(n.pods.allocated(p), true, worker.KillOptions{Grace: graceIfShorter(p, grace)})
	}
	n.watchers.notifyChanged()
	if err := n.watchers.waitUntil(ctx, func() bool { return n.pods.isDown(p) }); err != nil || unrecorded == nil {
		return err
	}
	if unrecorded.Cause = n.records.create(p.UID); unrecorded.Cause == nil {
		return nil
	}
	return unrecorded
}

// requestStop records that the pod is to stay stopped, in its directory first. A blocked
// pod is not stopped: if anything runs it, another podctl does.
func (n *Node) requestStop(ctx context.Context, namespace, name string, grace *int64) (*v1.Pod, error) {
	e, err := n.retryBlocked(ctx, namespace, name)
	if err != nil {
		return nil, err
	}
	e.recording.Lock() // keeps the directory, too: see removeDown
	defer e.recording.Unlock()
	n.pods.mu.Lock()
	p := e.Pod
	before := n.pods.get(p.UID) != e || e.Phase != lifecycle.Active
	if before {
		n.pods.step(p.UID, lifecycle.Stop{})
	}
	n.pods.mu.Unlock()
	if before {
		return p, nil
	}
	rec := n.records.of(e)
	rec.StayStopped = true
	rec.Stop(time.Now(), graceIfShorter(p, grace))
	err = poddir.CreateRecord(n.opts.Facts.Dir(p.UID), rec)
	n.records.set(e, rec) // on a full disk, too, the pod is stopped
	if err != nil {
		err = &UnrecordedError{Pod: pod.DisplayName(namespace, name), Cause: err}
	}
	return p, err
}

// UnrecordedError says that a pod was stopped, but that this could not be written
// down: it starts again if podctl does.
type UnrecordedError struct {
	Pod   string
	Cause error
}

func (e *UnrecordedError) Error() string {
	return fmt.Sprintf("pod %s is stopped, but that could not be recorded: %v", e.Pod, e.Cause)
}

// Hint says what follows from it.
func (e *UnrecordedError) Hint() string {
	return "the pod starts again when podctl is restarted: make room on the disk and stop it again"
}

func (e *UnrecordedError) Unwrap() error { return e.Cause }

// killIfStopped stops a pod that became active if Stop was called before it had a worker.
func (n *Node) killIfStopped(p *v1.Pod) {
	n.pods.mu.Lock()
	e := n.pods.get(p.UID)
	stopped := e != nil && e.record.StayStopped
	var grace *int64
	if stopped {
		grace = e.record.GraceLeft(time.Now())
	}
	n.pods.mu.Unlock()
	if stopped {
		n.workers.Kill(n.pods.allocated(p), true, worker.KillOptions{Grace: grace})
	}
}

// Start lets a pod run again that was stopped or has ended, and has one that was rejected
// admitted again. It returns as soon as the node knows it. The error is ErrNoPod, ErrNotStopped where there is
// nothing to start, or a *NotRunningError where something is in the way.
func (n *Node) Start(ctx context.Context, namespace, name string) error {
	if again, err := n.admitAgain(ctx, namespace, name); again {
		return err
	}
	e, err := n.retryBlocked(ctx, namespace, name)
	if err != nil {
		return err
	}
	e.recording.Lock()
	defer e.recording.Unlock()
	n.pods.mu.Lock()
	life, old, ended, active := e.Desired, e.record, e.stage == worker.Finished, e.Phase == lifecycle.Active
	uid := life.UID()
	if !active {
		n.pods.step(uid, lifecycle.Start{}) // it starts when its earlier life is over
	}
	n.pods.mu.Unlock()
	switch {
	case !active:
		return nil
	case !old.StayStopped && !pod.IsTerminal(old.Phase) && !ended:
		return fmt.Errorf("pod %s %w", pod.DisplayName(namespace, name), ErrNotStopped)
	}
	// A podctl that is killed from here on starts the pod: one that was stopped and is not
	// to stay so starts again.
	rec := n.records.withOwner(life, poddir.Record{StopRequested: time.Now(), GraceSeconds: old.GraceSeconds})
	if !old.StopRequested.IsZero() {
		rec.StopRequested = old.StopRequested
	}
	if err := poddir.WriteRecord(n.opts.Facts.Dir(uid), rec); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	n.pods.mu.Lock()
	var w work
	if n.pods.get(uid) == e && e.Phase == lifecycle.Active { // else its next life starts anyway
		e.record = rec
		w = n.pods.step(uid, lifecycle.Start{})
	}
	n.pods.mu.Unlock()
	n.carryOut(ctx, w)
	n.wake.signal()
	n.watchers.notifyChanged()
	return nil
}

// Restart restarts containers of a pod that runs, in its sandbox, and returns before any is
// stopped: see podsync.RestartRequest. containers are the ids of the runs that are meant, by
// name; "" is the one that the pod's status shows. With force, also containers that start
// again only with some exit codes. The error is ErrNoPod, or joins why each of the
// containers is not restarted; then none is.
func (n *Node) Restart(namespace, name string, containers map[string]string, force bool) error {
	display := pod.DisplayName(namespace, name)
	n.pods.mu.Lock()
	e, err := n.pods.named(namespace, name)
	if err == nil && (e.Phase != lifecycle.Active || n.workers.IsPodTerminationRequested(e.UID())) {
		err = hint.Errorf("podctl describe "+display, "pod %s is not running", display)
	}
	if err != nil {
		n.pods.mu.Unlock()
		return err
	}
	p, status := e.allocated(), e.status
	n.pods.mu.Unlock()
	var runs []string
	var refused []error
	for _, c := range slices.Sorted(maps.Keys(containers)) {
		r := podsync.RestartRequest{Pod: p, Status: &status, Container: c, ID: containers[c], Force: force}
		if err := r.Check(); err != nil {
			refused = append(refused, fmt.Errorf("restart %s/%s: %w", display, c, err))
		}
		runs = append(runs, cmp.Or(r.ID, r.Run()))
	}
	if len(refused) > 0 {
		return errors.Join(refused...)
	}
	n.sync.RequestRestart(p.UID, runs)
	n.syncPod(p.UID)
	return nil
}

// Debug adds an ephemeral container to a pod that runs, as the API server would, and
// returns before it is started. It lasts as long as this life of the pod: its manifest
// does not have it. The error is ErrNoPod, or says why the container is not added.
func (n *Node) Debug(namespace, name string, c v1.EphemeralContainer) error {
	n.pods.mu.Lock()
	e, err := n.pods.named(namespace, name)
	if err == nil && (e.Phase != lifecycle.Active || n.workers.IsPodTerminationRequested(e.UID())) {
		err = fmt.Errorf("pod %s is not running", pod.DisplayName(namespace, name))
	}
	if err != nil {
		n.pods.mu.Unlock()
		return err
	}
	p := e.allocated()
	n.pods.mu.Unlock()
	next, err := manifest.WithEphemeral(p, c)
	if err != nil {
		return err
	}
	added := next.Spec.EphemeralContainers[len(next.Spec.EphemeralContainers)-1]
	n.records.update(p.UID, func(r *poddir.Record) bool {
		r.Debug = append(slices.Clone(r.Debug), added)
		return true
	})
	n.syncPod(p.UID)
	return nil
}

// withDebug is the pod with the ephemeral containers that were added to it: the pod
// itself without any.
func withDebug(p *v1.Pod, added []v1.EphemeralContainer) *v1.Pod {
	if len(added) == 0 {
		return p
	}
	p = p.DeepCopy()
	for _, c := range added {
		named := func(other *v1.Container) bool { return other.Name == c.Name }
		if !slices.ContainsFunc(slices.Collect(pod.AllContainers(p)), named) {
			p.Spec.EphemeralContainers = append(p.Spec.EphemeralContainers, c)
		}
	}
	return p
}
