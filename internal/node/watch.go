package node

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/node/lifecycle"
	"github.com/podctl/podctl/internal/pleg"
	"github.com/podctl/podctl/internal/pod/event"
	"github.com/podctl/podctl/internal/worker"
)

// Pods returns every pod of the node, sorted by namespace,
// name and UID.
func (n *Node) Pods() []Info {
	snapshot := n.workers.Snapshot()
	states := make(map[types.UID]worker.Info, len(snapshot))
	for _, w := range snapshot {
		states[w.UID] = w
	}
	n.pods.mu.Lock()
	defer n.pods.mu.Unlock()
	infos := make([]Info, 0, len(n.pods.entries))
	for _, e := range slices.SortedFunc(maps.Values(n.pods.entries), func(a, b *entry) int { return lifecycle.CompareNames(a.Pod, b.Pod) }) {
		infos = append(infos, n.pods.info(e.UID(), e, states[e.UID()]))
	}
	return infos
}

// info is what Pods shows of a pod; w is zero if it has no worker. t.mu is held.
func (t *podTable) info(uid types.UID, e *entry, w worker.Info) Info {
	info := Info{
		Pod: withDebug(e.Pod, e.record.Debug), Status: e.status, WorkerPhase: e.stage, Lifecycle: e.Phase,
		Desired: e.IsDesired(), Adopted: e.Origin == lifecycle.Adopted, Again: e.hasNext(), Stopped: e.record.StayStopped && !e.hasNext(),
		Rejected: e.Rejection, Wait: e.Wait, Op: w.Running, OpSince: w.RunningSince, NextWake: w.NextWake,
		LastError: w.LastError, Grace: w.Grace, Unready: t.containers.Unready(uid), BackOffs: t.containers.BackOffs(uid), Start: t.containers.Start(uid),
	}
	if e.Phase == lifecycle.Waiting && e.Wait.Reason.Blocked() {
		info.Rejected = e.Wait.Err
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
	all     *watchers
	changes chan struct{}
	removed []Info // all.mu guards it
}

// watchers are those of one node. The zero value has none.
type watchers struct {
	mu  sync.Mutex
	all []*Watcher
}

// Watch follows what Pods shows from now on.
func (n *Node) Watch() *Watcher { return n.watchers.add() }

func (ws *watchers) add() *Watcher {
	w := &Watcher{all: ws, changes: make(chan struct{}, 1)}
	ws.mu.Lock()
	defer ws.mu.Unlock()
	ws.all = append(ws.all, w)
	return w
}

// Changes is signalled after anything that Pods shows has changed; changes
// that come faster than they are taken are one signal.
func (w *Watcher) Changes() <-chan struct{} { return w.changes }

// Gone returns the final state of the pods that were removed since the last call:
// Pods may never have shown it.
func (w *Watcher) Gone() []Info {
	w.all.mu.Lock()
	defer w.all.mu.Unlock()
	removed := w.removed
	w.removed = nil
	return removed
}

// Stop ends the watcher.
func (w *Watcher) Stop() {
	w.all.mu.Lock()
	defer w.all.mu.Unlock()
	w.all.all = slices.DeleteFunc(w.all.all, func(o *Watcher) bool { return o == w })
}

// notifyRemoved hands the final state of a removed pod to each watcher.
func (ws *watchers) notifyRemoved(last Info) {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for _, w := range ws.all {
		w.removed = append(w.removed, last)
	}
}

// notifyChanged signals each watcher that what Pods shows has changed.
func (ws *watchers) notifyChanged() {
	ws.mu.Lock()
	defer ws.mu.Unlock()
	for _, w := range ws.all {
		select {
		case w.changes <- struct{}{}:
		default:
		}
	}
}

// waitUntil waits until a condition on what Pods shows holds, or ctx ends.
func (ws *watchers) waitUntil(ctx context.Context, holds func() bool) error {
	w := ws.add()
	defer w.Stop()
	for !holds() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-w.Changes():
		}
	}
	return nil
}

// workerWatch follows the workers' phases.
type workerWatch struct{ n *Node }

func (w workerWatch) PhaseChanged(c worker.PhaseChange) {
	w.n.opts.Observer.PhaseChanged(c)
	w.n.pods.mu.Lock()
	e := w.n.pods.get(c.State.UID)
	var p *v1.Pod
	if e != nil {
		e.stage, p = c.To, e.Pod
		e.stoppedBefore = e.stoppedBefore && c.To != worker.Finished
		w.n.pods.accountResources(p.UID)
	}
	w.n.pods.mu.Unlock()
	if p != nil {
		switch c.To {
		case worker.Terminating:
			if c.State.Cause != worker.CauseCompleted {
				w.n.events.send(p, event.Event{Reason: event.Terminating, Stop: &event.Stop{
					Cause: c.State.Cause.String(), Why: w.n.stopReason(p, c.State.Cause), Grace: c.State.Grace,
				}})
			}
		case worker.Terminated:
			w.n.events.send(p, event.Event{Reason: event.Stopped})
		case worker.Finished, worker.Unknown:
			w.n.wake.signal()
		case worker.Syncing: // starting, or adopted, which was told
		}
	}
	w.n.watchers.notifyChanged()
}

// stopReason returns what made the node stop the pod.
func (n *Node) stopReason(p *v1.Pod, cause worker.Cause) event.StopReason {
	n.pods.mu.Lock()
	defer n.pods.mu.Unlock()
	e := n.pods.get(p.UID)
	switch {
	case cause == worker.CauseEvicted, cause == worker.CausePhase, cause == worker.CauseRuntimeOnly, e == nil:
		return ""
	case n.pods.drain != nil:
		return event.Shutdown
	case e.record.StayStopped && !e.hasNext():
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
		w.n.watchers.notifyChanged()
	}
}

// runtimeWatch reports when the runtime stops answering and when it is back, and
// passes all on to the next observer, nil if there is none.
type runtimeWatch struct {
	n    *Node
	next pleg.Observer
	down atomic.Bool
}

var _ pleg.Observer = (*runtimeWatch)(nil)

func (r *runtimeWatch) Relisted(took, interval time.Duration, err error) {
	if r.next != nil {
		r.next.Relisted(took, interval, err)
	}
	switch down := err != nil; {
	case down && !r.down.Swap(true):
		r.n.events.emit(event.Event{Reason: event.RuntimeDown, Warning: true, Failure: &event.Failure{Layer: event.LayerRuntime, Text: err.Error()}})
	case !down && r.down.Swap(false):
		r.n.events.emit(event.Event{Reason: event.RuntimeUp})
	}
}

func (r *runtimeWatch) PodRelisted(source pleg.Source, took time.Duration, changed bool, err error) {
	if r.next != nil {
		r.next.PodRelisted(source, took, changed, err)
	}
}

func (r *runtimeWatch) StatusRead(took time.Duration, err error) {
	if r.next != nil {
		r.next.StatusRead(took, err)
	}
}

func (r *runtimeWatch) Hinted(latency time.Duration, backlog bool) {
	if r.next != nil {
		r.next.Hinted(latency, backlog)
	}
}

func (r *runtimeWatch) HintStream(err error) {
	if r.next != nil {
		r.next.HintStream(err)
	}
}
