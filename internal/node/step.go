package node

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/lifecycle"
)

// work is what is to be done after one or more steps, outside of the mutex.
type work struct {
	actions []lifecycle.Action
	// retired are the entries of the lives that were dropped.
	retired map[types.UID]*entry
}

// step gives a pod's entry an event. What comes of it goes to n.carryOut, without
// n.mu, which is held here.
func (n *Node) step(uid types.UID, ev lifecycle.Event) work {
	var before lifecycle.Entry
	if e := n.entryOf(uid); e != nil {
		before = e.Entry
	}
	after, actions := lifecycle.Step(before, time.Now(), ev)
	w := work{actions: actions}
	n.install(uid, after, w.drops()[uid], &w)
	return w
}

// drops are the pods of which a life is dropped.
func (w *work) drops() map[types.UID]bool {
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

// install replaces a pod's entry; dropped says that the life so far is. n.mu is held.
func (n *Node) install(uid types.UID, after lifecycle.Entry, dropped bool, w *work) {
	e := n.entries[uid]
	n.rename(uid, e, after)
	if e != nil && dropped {
		if e.alarm != nil {
			e.alarm.Stop()
		}
		if w.retired == nil {
			w.retired = map[types.UID]*entry{}
		}
		n.goes(uid, e)
		w.retired[uid], e = e, nil
		n.settling++
	}
	switch {
	case after.Phase == lifecycle.None:
		delete(n.entries, uid)
	case e == nil:
		n.entries[uid] = &entry{Entry: after}
	default:
		e.Entry = after
	}
	n.book(uid)
}

// tell is step and carryOut.
func (n *Node) tell(ctx context.Context, uid types.UID, ev lifecycle.Event) {
	n.mu.Lock()
	w := n.step(uid, ev)
	n.mu.Unlock()
	n.carryOut(ctx, w)
}
