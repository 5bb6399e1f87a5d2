package node

import (
	"bytes"
	"cmp"
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/worker"
)

// reconcile compares what is desired, what the workers know, and what the
// runtime holds, and starts what has to be done: HandlePodCleanups in
// pkg/kubelet/kubelet_pods.go, and what its handlers of sources do. It is
// called by the loop only. The runtime is listed if there is something to start,
// or full is set; while it cannot be listed, nothing is started or taken for
// gone.
func (n *Node) reconcile(ctx context.Context, full bool) {
	want, ready := n.wanted()
	if !ready {
		return
	}
	if full {
		n.beat()
	}
	n.undesire(want)
	n.dropClearing(want)
	var pods []*v1.Pod
	for _, d := range sorted(want) {
		pods = append(pods, d.Pod)
	}
	known := n.workers.SyncKnownPods(pods)
	n.removeLeft(ctx, known)

	starting := n.starting(want, known)
	if len(starting) == 0 && !full {
		return
	}
	// Names are claimed before the runtime is listed: what another podctl does
	// under a name until then is in the listing.
	starting = n.claimAll(starting)
	defer n.settleNames()
	held, err := n.rt.ListPods(ctx)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		n.log.Warn("housekeeping", "err", err)
		return
	}
	isKnown := func(uid types.UID) bool { _, ok := known[uid]; return ok || n.has(uid) }
	found := sortOut(held, isKnown, want, n.opts.Instance)
	n.keepUnread(ctx, &found)
	if partial := n.desired.isPartial(); !partial && full {
		if n.opts.KillUnknown {
			found.addUnknown(unknowns(held, isKnown, want, n.opts.Instance))
		}
		n.takeOrphans(held, want)
	}
	adopt, older := n.adoptable(ctx, found, want)
	n.endFound(ctx, append(found.end, older...), &found)
	// What runs already has its place before anything new is let in.
	slices.SortStableFunc(starting, func(a, b Desired) int {
		return cmp.Compare(rank(adopt[a.Pod.UID]), rank(adopt[b.Pod.UID]))
	})
	for _, d := range starting {
		if n.has(d.Pod.UID) {
			continue // just found to be on its way down
		}
		if n.letIn(ctx, d, adopt[d.Pod.UID], found) {
			n.takeLeftovers(d, held)
		}
	}
}

func rank(adopted bool) int {
	if adopted {
		return 0
	}
	return 1
}

// wanted is the union of all sources; while draining, what is spared.
func (n *Node) wanted() (map[types.UID]Desired, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.draining {
		return n.desired.union()
	}
	spared := map[types.UID]Desired{}
	for uid, e := range n.entries {
		if n.spared(e) {
			spared[uid] = e.want
		}
	}
	return spared, true
}

// spared tells whether a drain leaves the pod as it is. n.mu is held.
func (n *Node) spared(e *entry) bool { return n.spare != nil && e.desired && n.spare(e) }

// undesire stops what was desired and is not any more, with its own grace
// or, while draining, a shorter one.
func (n *Node) undesire(want map[types.UID]Desired) {
	var stop []*v1.Pod
	var drop []types.UID
	n.mu.Lock()
	grace := n.grace
	for uid, e := range n.entries {
		if _, ok := want[uid]; ok || !e.desired {
			continue
		}
		e.desired = false
		if e.rejected != nil {
			drop = append(drop, uid)
			continue
		}
		stop = append(stop, e.want.Pod)
	}
	n.mu.Unlock()
	for _, uid := range drop {
		n.drop(uid)
	}
	n.stop(stop, grace)
}

// stop stops those of the pods that have a worker. What the node has noted of
// a worker's phase may lag behind, so the workers are asked.
func (n *Node) stop(pods []*v1.Pod, grace *int64) {
	for _, p := range pods {
		if n.workers.IsPodKnown(p.UID) {
			n.workers.Kill(p, true, worker.KillOptions{Grace: shorter(p, grace)})
		}
	}
}

// shorter is the grace where it is less than the pod's own, else nil: a worker
// would take a longer one, too.
func shorter(p *v1.Pod, grace *int64) *int64 {
	if own := p.Spec.TerminationGracePeriodSeconds; grace != nil && own != nil && *own <= *grace {
		return nil
	}
	return grace
}

// starting are the desired pods that no worker knows and that may start: they
// are not rejected, and nothing of an earlier life of theirs is left. A pod
// that is on its way down although it is desired is created again after that;
// and so is one of the same UID and another document, which is stopped first.
func (n *Node) starting(want map[types.UID]Desired, known map[types.UID]worker.Known) []Desired {
	var starting, again []Desired
	var changed []*v1.Pod
	n.mu.Lock()
	for _, d := range sorted(want) {
		e := n.entries[d.Pod.UID]
		if e == nil {
			starting = append(starting, d)
			continue
		}
		_, isKnown := known[d.Pod.UID]
		switch {
		case e.rejected != nil:
		case !bytes.Equal(e.want.Document, d.Document) && !e.fresh:
			// A manifest that fixes its uid has changed.
			e.fresh, e.desired = true, true
			changed = append(changed, e.want.Pod)
			again = append(again, d)
		case isKnown && !e.desired:
			e.desired, e.fresh = true, true
			again = append(again, d)
		}
	}
	n.mu.Unlock()
	for _, p := range changed {
		n.workers.Kill(p, true, worker.KillOptions{})
	}
	for _, d := range again {
		n.workers.Update(worker.Update{Pod: d.Pod, Type: worker.TypeCreate, Exclusive: true})
	}
	return starting
}
