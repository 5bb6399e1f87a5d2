package node

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/node/lifecycle"
	"github.com/podctl/podctl/internal/worker"
)

// work is what is to be done after one or more steps, without the mutex.
type work struct {
	actions []lifecycle.Action
	// retired are the entries of the lives that were dropped.
	retired map[types.UID]*entry
}

// step applies an event to a pod's entry. t.mu is held; n.carryOut, which does the work
// that is returned, is called without it.
func (t *podTable) step(uid types.UID, ev lifecycle.Event) work {
	var before lifecycle.Entry
	if e := t.get(uid); e != nil {
		before = e.Entry
	}
	after, actions := lifecycle.Step(before, time.Now(), ev)
	w := work{actions: actions}
	t.install(uid, after, w.droppedUIDs()[uid], &w)
	return w
}

// droppedUIDs returns the pods with a life that is dropped.
func (w *work) droppedUIDs() map[types.UID]bool {
	var uids map[types.UID]bool
	for _, a := range w.actions {
		if d, ok := a.(lifecycle.Drop); ok {
			if uids == nil {
				uids = map[types.UID]bool{}
			}
			uids[d.Pod.UID] = true
		}
	}
	return uids
}

// install replaces a pod's entry; dropped: its life so far is dropped. t.mu is held.
func (t *podTable) install(uid types.UID, after lifecycle.Entry, dropped bool, w *work) {
	e := t.entries[uid]
	t.index(uid, e, after)
	if e != nil && dropped {
		if e.alarm != nil {
			e.alarm.Stop()
		}
		if w.retired == nil {
			w.retired = map[types.UID]*entry{}
		}
		t.watchers.notifyRemoved(t.info(uid, e, worker.Info{}))
		w.retired[uid], e = e, nil
		t.dropping++
	}
	switch {
	case after.Phase == lifecycle.None:
		delete(t.entries, uid)
	case e == nil:
		t.entries[uid] = &entry{Entry: after}
	default:
		e.Entry = after
	}
	t.accountResources(uid)
}

// apply applies an event to a pod's entry, and carries out what it leads to.
func (n *Node) apply(ctx context.Context, uid types.UID, ev lifecycle.Event) {
	n.pods.mu.Lock()
	w := n.pods.step(uid, ev)
	n.pods.mu.Unlock()
	n.carryOut(ctx, w)
}
