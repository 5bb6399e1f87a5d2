package node

import (
	"context"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/event"
	"github.com/podctl/podctl/internal/lifecycle"
	"github.com/podctl/podctl/internal/worker"
)

// Pods returns every pod of the node, sorted by namespace,
// name and UID.
func (n *Node) Pods() []Info {
	states := map[types.UID]worker.Info{}
	for _, w := range n.workers.Snapshot() {
		states[w.UID] = w
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	infos := make([]Info, 0, len(n.entries))
	for uid, e := range n.entries {
		infos = append(infos, n.info(uid, e, states[uid]))
	}
	slices.SortFunc(infos, func(a, b Info) int { return lifecycle.CompareNames(a.Pod, b.Pod) })
	return infos
}

// info is what Pods shows of a pod; w is zero if it has no worker. n.mu is held.
func (n *Node) info(uid types.UID, e *entry, w worker.Info) Info {
	info := Info{
		Pod: withDebug(e.Pod, e.record.Debug), Status: e.status, Stage: e.stage, Lifecycle: e.Phase,
		Desired: e.IsDesired(), Adopted: e.Origin == lifecycle.Adopted, Again: e.again(), Stopped: e.record.Held && !e.again(),
		Rejected: e.Rejection, Wait: e.Wait, Op: w.Running, OpSince: w.RunningSince, NextWake: w.NextWake,
		LastError: w.LastError, Grace: w.Grace, Unready: n.sync.MaskedUnready(uid, n.probes.Unready(uid)),
	}
	if e.Wait.Tries > 0 {
		info.NextWake = e.Wait.RetryAt
	}
	if w.Phase == worker.Terminating {
		info.StopRequested = w.Since
	}
	return info
}

// Watcher follows what Pods shows, until it is stopped.
type Watcher struct {
	node    *Node
	changes chan struct{}
	gone    []Info // node.mu guards it
}

// Watch follows what Pods shows from now on.
func (n *Node) Watch() *Watcher {
	w := &Watcher{node: n, changes: make(chan struct{}, 1)}
	n.mu.Lock()
	n.watchers = append(n.watchers, w)
	n.mu.Unlock()
	return w
}

// Changes is signalled after anything that Pods shows has changed; changes
// that come faster than they are taken are one signal.
func (w *Watcher) Changes() <-chan struct{} { return w.changes }

// Gone returns the final state of the pods that were removed since the last call:
// Pods may never have shown it.
func (w *Watcher) Gone() []Info {
	w.node.mu.Lock()
	defer w.node.mu.Unlock()
	gone := w.gone
	w.gone = nil
	return gone
}

// Stop ends the watcher.
func (w *Watcher) Stop() {
	w.node.mu.Lock()
	defer w.node.mu.Unlock()
	w.node.watchers = slices.DeleteFunc(w.node.watchers, func(o *Watcher) bool { return o == w })
}

// goes tells the watchers of a pod that goes. n.mu is held.
func (n *Node) goes(uid types.UID, e *entry) {
	if len(n.watchers) == 0 {
		return
	}
	last := n.info(uid, e, worker.Info{})
	for _, w := range n.watchers {
		w.gone = append(w.gone, last)
	}
}

// until waits until something that Pods shows has become so.
func (n *Node) until(ctx context.Context, so func() bool) error {
	w := n.Watch()
	defer w.Stop()
	for !so() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-w.Changes():
		}
	}
	return nil
}

func (n *Node) changed() {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, w := range n.watchers {
		select {
		case w.changes <- struct{}{}:
		default:
		}
	}
}

// send completes an event of the pod and hands it to Options.Events.
func (n *Node) send(p *v1.Pod, ev event.Event) {
	ev.Time, ev.UID, ev.Namespace, ev.Name = time.Now(), p.UID, p.Namespace, p.Name
	if ev.Phase == "" {
		ev.Phase = n.phaseOf(p.UID)
	}
	n.emit.Lock()
	defer n.emit.Unlock()
	if n.opts.Events != nil {
		n.opts.Events(ev)
	}
}

func (n *Node) phaseOf(uid types.UID) v1.PodPhase {
	n.mu.Lock()
	defer n.mu.Unlock()
	if e := n.entryOf(uid); e != nil && e.status.Phase != "" {
		return e.status.Phase
	}
	return v1.PodPending
}

// setStatus keeps a pod's new status and reports what has changed.
func (n *Node) setStatus(p *v1.Pod, s v1.PodStatus) {
	n.mu.Lock()
	e := n.entryOf(p.UID)
	if e == nil || s.Phase == "" {
		n.mu.Unlock()
		return
	}
	events := changes(&e.status, &s)
	before := e.status.Phase
	e.status = s
	n.book(p.UID)
	n.mu.Unlock()
	if before != s.Phase {
		n.opts.Observer.StatusChanged(p, before, s.Phase)
	}
	for _, ev := range events {
		n.send(p, ev)
	}
	n.changed()
}

// workerWatch follows the workers' phases.
type workerWatch struct{ n *Node }

func (w workerWatch) PhaseChanged(c worker.PhaseChange) {
	w.n.opts.Observer.PhaseChanged(c)
	w.n.mu.Lock()
	e := w.n.entryOf(c.State.UID)
	var p *v1.Pod
	if e != nil {
		e.stage, p = c.To, e.Pod
		w.n.book(p.UID)
	}
	w.n.mu.Unlock()
	if p != nil {
		switch c.To {
		case worker.Terminating:
			if c.State.Cause != worker.CauseCompleted {
				w.n.send(p, event.Event{Reason: event.Terminating, Stop: &event.Stop{
					Cause: c.State.Cause.String(), Why: w.n.stopReason(p, c.State.Cause), Grace: c.State.Grace,
				}})
			}
		case worker.Terminated:
			w.n.send(p, event.Event{Reason: event.Stopped})
		case worker.Finished, worker.Unknown:
			w.n.poke()
		case worker.Syncing: // starting, or adopted, which was told
		}
	}
	w.n.changed()
}

// stopReason returns what made the node stop the pod.
func (n *Node) stopReason(p *v1.Pod, cause worker.Cause) event.StopReason {
	n.mu.Lock()
	defer n.mu.Unlock()
	e := n.entryOf(p.UID)
	switch {
	case cause == worker.CauseEvicted, cause == worker.CausePhase, cause == worker.CauseRuntimeOnly, e == nil:
		return ""
	case n.drain != nil:
		return event.Shutdown
	case e.record.Held && !e.again():
		return event.ByCommand
	}
	if n.desired.wants(p.Namespace, p.Name) {
		return event.ManifestChanged
	}
	return event.ManifestRemoved
}

func (w workerWatch) OperationStarted(o worker.Operation) {
	w.n.opts.Observer.OperationStarted(o)
}

func (w workerWatch) OperationDone(o worker.Operation) {
	w.n.opts.Observer.OperationDone(o)
	if o.Err != nil {
		w.n.changed()
	}
}

// runtimeEvent sends an event about the runtime.
func (n *Node) runtimeEvent(ev event.Event) {
	ev.Time = time.Now()
	n.emit.Lock()
	defer n.emit.Unlock()
	if n.opts.Events != nil {
		n.opts.Events(ev)
	}
}
