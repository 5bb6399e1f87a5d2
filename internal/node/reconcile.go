package node

import (
	"context"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/node/lifecycle"
	"github.com/podctl/podctl/internal/worker"
)

// reconcile compares what is desired, what the workers know, and what the
// runtime holds, and starts what has to be done (HandlePodCleanups in
// pkg/kubelet/kubelet_pods.go). Only the loop calls it. The runtime is listed if
// there is something to start, or full is set; while it cannot be listed, nothing
// is started or taken for gone.
func (n *Node) reconcile(ctx context.Context, full bool) {
	w, desired, ready := n.compareEntries()
	if !ready {
		return
	}
	if full {
		n.names.heartbeat()
		n.allocations.retryDeferred()
	}
	attempts := n.carryOut(ctx, w)
	var pods []*v1.Pod
	for _, d := range desired {
		pods = append(pods, d.Pod)
	}
	known := n.workers.SyncKnownPods(pods)
	if len(attempts) > 0 || full {
		n.startDue(ctx, attempts, desired, known, full)
		n.watchers.notifyChanged()
	}
}

// compareEntries updates the entries to what is desired now.
func (n *Node) compareEntries() (w work, desired map[types.UID]Desired, ready bool) {
	n.pods.mu.Lock()
	defer n.pods.mu.Unlock()
	desired, ready = n.pods.wanted(n.desired)
	if !ready {
		return work{}, nil, false
	}
	n.preemption.dropStale(desired)
	for uid, err := range n.remover.takeEnded() {
		done := n.pods.step(uid, lifecycle.RemovalDone{Err: err})
		w.add(done)
	}
	in := lifecycle.Input{Desired: map[types.UID]Desired{}, Known: map[types.UID]bool{}, InPlace: n.canUpdateInPlace}
	if n.pods.drain != nil {
		in.Grace = n.pods.drain.grace
	}
	before := map[types.UID]lifecycle.Entry{}
	for uid, e := range n.pods.entries {
		d, wanted := desired[uid]
		known := n.workers.IsPodKnown(uid)
		if wanted && known && e.IsUpToDate(d) {
			continue
		}
		before[uid], in.Known[uid] = e.Entry, known
	}
	for uid, d := range desired {
		if _, differs := before[uid]; differs || n.pods.entries[uid] == nil {
			in.Desired[uid] = d
		}
	}
	after, actions := lifecycle.Reconcile(before, in, time.Now())
	next := work{actions: actions}
	drops := next.droppedUIDs()
	for uid := range before {
		if _, stays := after[uid]; !stays {
			n.pods.install(uid, lifecycle.Entry{}, drops[uid], &next)
		}
	}
	for uid, e := range after {
		n.pods.install(uid, e, drops[uid], &next)
	}
	w.add(next)
	return w, desired, true
}

// startDue tries to start the pods that are due, and stops pods of the runtime that are
// not to run.
func (n *Node) startDue(ctx context.Context, uids []types.UID, desired map[types.UID]Desired, known map[types.UID]worker.Known, full bool) {
	if len(uids) > 0 {
		go func() { _ = n.network.isReady(ctx) }() // their syncs ask again, and are answered at once
	}
	// Names are claimed before the runtime is listed: what another podctl does
	// under a name until then is in the listing.
	settle := n.claimNames(ctx, uids, desired)
	listed, err := n.rt.ListPods(ctx)
	starting := settle()
	if err != nil {
		if ctx.Err() == nil && full {
			n.log.Warn("housekeeping", "err", err)
		}
		for _, d := range starting {
			n.deferStart(ctx, d, lifecycle.Defer{Reason: lifecycle.RuntimeUnavailable, Err: err})
		}
		return
	}
	n.pods.advanceSurvey(surveyListed)
	defer n.pods.advanceSurvey(surveyDone)
	cache := n.leftovers.newCache(ctx, listed)
	isKnown := func(uid types.UID) bool { _, ok := known[uid]; return ok || n.pods.isHandled(uid) }
	found := lifecycle.Classify(listed, isKnown, desired, n.opts.Instance)
	unread := n.keepPodsOfPartialSources(ctx, &found)
	if full && !n.desired.isPartial() {
		if n.opts.KillUnknown {
			found.StopUnknown(lifecycle.UnknownPods(listed, isKnown, desired, n.opts.Instance))
		}
		for _, leftover := range n.leftovers.ofInstance(cache, desired) {
			n.removeLeftover(ctx, leftover)
		}
		if !n.opts.KeepLeftoverCgroups {
			n.sweep.startSweep(ctx, cache)
		}
	}
	n.leaveOwned(ctx, &found)
	adopt, older := n.adoptable(ctx, found, desired)
	n.stopFound(ctx, append(found.Stop, older...), &found)
	unread += len(found.Unread)
	// The resources of adopted pods are accounted before new pods are admitted.
	slices.SortStableFunc(starting, func(a, b Desired) int { return adoptedFirst(adopt[a.UID()], adopt[b.UID()]) })
	for _, d := range starting {
		if !adopt[d.UID()] {
			n.starts.Expect(d.Pod)
		}
	}
	for _, d := range starting {
		if n.startPod(ctx, d, adopt[d.UID()], &found, listed) {
			for _, leftover := range n.leftovers.ofName(d, cache) {
				n.removeLeftover(ctx, leftover)
			}
		} else {
			n.starts.Forget(d.UID())
		}
	}
	if full {
		n.settled.Store(unread == 0)
	}
}

func adoptedFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// add appends more work.
func (w *work) add(more work) {
	w.actions = append(w.actions, more.actions...)
	for uid, e := range more.retired {
		if w.retired == nil {
			w.retired = map[types.UID]*entry{}
		}
		w.retired[uid] = e
	}
}

// removeLeftover removes what a pod left on the host. Its name is claimed.
func (n *Node) removeLeftover(ctx context.Context, d Desired) {
	n.pods.mu.Lock()
	var w work
	if n.pods.drain == nil {
		w = n.pods.step(d.UID(), lifecycle.Leftover{Desired: d})
		n.pods.get(d.UID()).touched = time.Now()
	}
	n.pods.mu.Unlock()
	n.carryOut(ctx, w)
	n.names.release(d.FullName())
}
