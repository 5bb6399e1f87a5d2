package node

import (
	"bytes"
	"cmp"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/desired/manifest"
	"github.com/podctl/podctl/internal/node/admission"
	"github.com/podctl/podctl/internal/node/lifecycle"
	"github.com/podctl/podctl/internal/node/poddir"
	"github.com/podctl/podctl/internal/node/podsync"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/worker"
)

// allocated returns the pod as it may run: with the resources that the node has granted
// it, the containers that podctl debug added, and the conditions that others set. a.pods.mu is held.
func (e *entry) allocated() *v1.Pod {
	debug, conditions := len(e.record.Debug), e.record.Conditions
	if e.current.from != e.Pod || e.current.granted != e.granted || e.current.debug != debug || !slices.Equal(e.current.conditions, conditions) {
		e.current = allocatedPod{from: e.Pod, granted: e.granted, debug: debug, conditions: conditions, pod: withConditions(withDebug(e.granted.Apply(e.Pod), e.record.Debug), e.record.Conditions)}
	}
	return e.current.pod
}

// allocated returns the pod as its worker runs it, with what it was granted and what was
// added to it since; p itself if that is another one.
func (t *podTable) allocated(p *v1.Pod) *v1.Pod {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.get(p.UID); e != nil && e.Pod == p {
		return e.allocated()
	}
	return p
}

// allocatedPod is a pod with the resources that it was granted.
type allocatedPod struct {
	from       *v1.Pod
	granted    *pod.Allocation
	debug      int
	conditions []v1.PodCondition
	pod        *v1.Pod
}

// allocations grants pods the resources that they ask for after they were admitted.
type allocations struct {
	pods        *podTable
	workers     *worker.Workers
	sync        *podsync.Syncer
	allocatable v1.ResourceList
	observer    Observer
}

// update grants a pod that asks for other resources than it was granted what it
// asks for, if that fits beside the others; else it waits for room
// (handlePodResourcesResize in pkg/kubelet/allocation/allocation_manager.go). The
// changed pod goes to its worker, unless this is a retry and the pod still waits for the
// same reason.
func (a *allocations) update(uid types.UID, retry bool) {
	a.pods.mu.Lock()
	e := a.pods.get(uid)
	if e == nil || e.Phase != lifecycle.Active {
		a.pods.mu.Unlock()
		return
	}
	want := e.Pod
	resizes := e.granted.Apply(want) != want
	var refused *admission.Error
	if resizes {
		if refused = a.refuse(want); refused == nil {
			e.granted = pod.AllocationOf(want)
			a.pods.accountResources(uid)
		}
	}
	pending := refused != nil && !e.deferred.isSame(want, refused)
	if retry && refused != nil && !pending {
		a.pods.mu.Unlock()
		return
	}
	settled := refused == nil && e.deferred != nil && !resizes
	waited := e.deferred
	e.deferred = e.deferred.next(want, refused)
	u := worker.Update{Pod: e.allocated(), Type: worker.TypeUpdate, Exclusive: true}
	a.pods.mu.Unlock()
	if waited != nil && refused == nil {
		how := ResizeReverted
		if resizes {
			how = ResizeAccepted
		}
		a.observer.DeferredResizeEnded(want, how, time.Since(waited.since))
	}
	switch {
	case pending:
		a.sync.ResizePending(want, refused.Message)
	case settled:
		a.sync.ResizeWithdrawn(want)
	case refused == nil && resizes:
		a.sync.ResizeStarted(want)
	}
	a.workers.Update(u)
}

// deferral is a resize that waits for room: of which generation, why, and since when.
// nil is none.
type deferral struct {
	generation int64
	message    string
	since      time.Time
}

// isSame reports whether the pod waits for the same reason as before.
func (d *deferral) isSame(p *v1.Pod, refused *admission.Error) bool {
	return d != nil && d.generation == p.Generation && d.message == refused.Message
}

// next is the deferral of the pod that is refused now, nil if it is not.
func (d *deferral) next(p *v1.Pod, refused *admission.Error) *deferral {
	if refused == nil {
		return nil
	}
	after := &deferral{p.Generation, refused.Message, time.Now()}
	if d != nil && d.generation == p.Generation {
		after.since = d.since
	}
	return after
}

// refuse returns why the pod does not fit beside the others with what it asks for,
// nil if it does. No pod is evicted for a resize. a.pods.mu is held.
func (a *allocations) refuse(p *v1.Pod) *admission.Error {
	var others []*v1.Pod
	for _, other := range a.pods.active() {
		if other.UID != p.UID {
			others = append(others, other)
		}
	}
	return admission.Resize(p, a.allocatable, others)
}

// retryDeferred grants what waits for room and has it by now, in the kubelet's order. A
// pod that still waits for the same reason is not synced (retryPendingResizes in
// pkg/kubelet/allocation/allocation_manager.go). Only the loop calls it.
func (a *allocations) retryDeferred() {
	a.pods.mu.Lock()
	var deferred []*entry
	for _, e := range a.pods.entries {
		if e.deferred != nil {
			deferred = append(deferred, e)
		}
	}
	slices.SortFunc(deferred, compareDeferred)
	var uids []types.UID
	for _, e := range deferred {
		uids = append(uids, e.Pod.UID)
	}
	a.pods.mu.Unlock()
	for _, uid := range uids {
		a.update(uid, true)
	}
}

// compareDeferred orders resizes that wait: by the priority of their pods, guaranteed
// ones first, and the longest wait first (sortPendingResizes there).
func compareDeferred(a, b *entry) int {
	class := func(e *entry) int {
		if pod.QOS(e.Pod) == v1.PodQOSGuaranteed {
			return 0
		}
		return 1
	}
	return cmp.Or(cmp.Compare(pod.Priority(b.Pod), pod.Priority(a.Pod)), cmp.Compare(class(a), class(b)), a.deferred.since.Compare(b.deferred.since))
}

// recordedAllocation returns what the containers of an adopted pod were given: what it
// was resized to, else what its sandbox was created with.
func recordedAllocation(rec poddir.Record, p *v1.Pod) *pod.Allocation {
	if rec.Resources != nil {
		return rec.Resources
	}
	return pod.AllocationOf(p)
}

// adoptedAllocation returns what an earlier podctl gave the pod's containers, nil if none did.
func (t *podTable) adoptedAllocation(uid types.UID) *pod.Allocation {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.get(uid); e != nil {
		return e.adopted
	}
	return nil
}

// grant records what a pod that starts was granted. t.mu is held.
func (t *podTable) grant(uid types.UID, a *pod.Allocation) {
	if e := t.get(uid); e != nil {
		e.granted, e.adopted = a, a
		t.accountResources(uid)
	}
}

// canUpdateInPlace reports whether an active pod can be updated to another version of its
// manifest: its worker still syncs it, or it has ended, and the API server would accept the
// change. A pod that podctl stop stopped begins again instead, unless nothing but the status
// is different. n.pods.mu is held.
func (n *Node) canUpdateInPlace(running lifecycle.Entry, version Desired) bool {
	stopping := n.workers.IsPodTerminationRequested(running.UID()) && !n.pods.get(running.UID()).record.Ended()
	if stopping {
		return poddir.Fingerprint(running.Document) == poddir.Fingerprint(version.Document)
	}
	return n.isInPlace(running.Pod, version.Pod)
}

// updateInPlace gives a pod's worker the new version of its manifest. That changes nothing
// of a pod that has ended.
func (n *Node) updateInPlace(uid types.UID) {
	n.background.Go(func() { n.records.updateManifest(uid) })
	if n.pods.record(uid).Ended() {
		n.watchers.notifyChanged()
		return
	}
	n.allocations.update(uid, false)
}

// isInPlace reports whether a manifest changes in place, and logs why the pod is replaced
// if not.
func (n *Node) isInPlace(running, version *v1.Pod) bool {
	err := manifest.InPlace(running, version)
	if err != nil {
		n.log.Info("replace pod", "pod", Desired{Pod: running}.FullName(), "uid", running.UID, "reason", err)
	}
	return err == nil
}

// canContinueAs reports whether a pod that the runtime holds, and that ran by an
// older document, continues as the desired one: by the same rule.
func (n *Node) canContinueAs(uid types.UID, held, want Desired) bool {
	if bytes.Equal(held.Document, want.Document) {
		return true
	}
	if rec := poddir.ReadRecord(n.opts.Facts.Dir(uid)); rec.Stopped() && !rec.Ended() {
		// It may have been updated in place before it was stopped.
		return rec.Manifest == poddir.Fingerprint(want.Document)
	}
	return n.isInPlace(held.Pod, want.Pod)
}

// RanManifest reports whether this document is the one by which the pod was last run on this
// runtime.
func (n *Node) RanManifest(uid types.UID, document []byte) bool {
	rec := poddir.ReadRecord(n.opts.Facts.Dir(uid))
	return rec.Manifest == poddir.Fingerprint(document) && !rec.IsElsewhere(n.locks.Runtime(), n.locks.Fingerprint())
}
