package node

import (
	"fmt"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/node/lifecycle"
	"github.com/podctl/podctl/internal/node/poddir"
	"github.com/podctl/podctl/internal/node/podsync"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
	"github.com/podctl/podctl/internal/preempt"
	"github.com/podctl/podctl/internal/worker"
)

// podTable holds the pods of a node and what is derived from all of them. Its mutex is
// held for no call that can block. A method needs the mutex held where its comment
// says so, and takes it itself otherwise.
type podTable struct {
	// workers and containers are asked with the mutex held.
	workers    workerPhases
	containers containerFacts
	// watchers are notified of pods that are removed.
	watchers *watchers

	mu      sync.Mutex
	entries map[types.UID]*entry
	// byName are the UIDs of the entries of each full name.
	byName map[string][]types.UID
	// accounted are the pods whose resources are in use: all of active, at least.
	accounted preempt.Tally
	// drain is set once nothing is desired any more.
	drain *drain
	// survey is how far the runtime's pods are known.
	survey survey
	// dropping counts the pods that were dropped and whose names are not released yet.
	dropping int
}

// workerPhases is what the table asks the workers.
type workerPhases interface {
	IsPodKnown(uid types.UID) bool
	IsPodKnownTerminated(uid types.UID) bool
}

// containerFacts is what the table asks about the containers of a pod.
type containerFacts interface {
	// Unready returns those whose last probe failed.
	Unready(uid types.UID) []event.Unready
	// BackOffs returns the back-offs of those that wait, by name.
	BackOffs(uid types.UID) map[string]podsync.BackOff
	// Start returns how far the start of the pod is.
	Start(uid types.UID) pod.Start
}

// newPodTable returns an empty table, whose workers have yet to be set.
func newPodTable(containers containerFacts) *podTable {
	return &podTable{
		containers: containers, watchers: &watchers{},
		entries: map[types.UID]*entry{}, byName: map[string][]types.UID{},
	}
}

// get returns the entry, nil if there is none. t.mu is held.
func (t *podTable) get(uid types.UID) *entry { return t.entries[uid] }

// has reports whether the node has the pod.
func (t *podTable) has(uid types.UID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.get(uid) != nil
}

// named returns the entry of a name: the desired one, if there are several. t.mu is
// held.
func (t *podTable) named(namespace, name string) (*entry, error) {
	var found *entry
	for _, uid := range t.byName[pod.FullName(name, namespace)] {
		if e := t.entries[uid]; found == nil || e.IsDesired() && !found.IsDesired() {
			found = e
		}
	}
	if found == nil {
		return nil, fmt.Errorf("%w: %s", ErrNoPod, pod.DisplayName(namespace, name))
	}
	return found, nil
}

// isHandled reports whether the node decided already what becomes of the pod in the
// runtime.
func (t *podTable) isHandled(uid types.UID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.get(uid)
	return e != nil && e.Phase != lifecycle.Starting
}

// isActive reports whether the pod has a worker and is not being stopped for good.
// t.mu is held.
func (t *podTable) isActive(e *entry) bool { return e != nil && e.Phase == lifecycle.Active }

// runsSpec reports whether the pod is active with this very spec.
func (t *podTable) runsSpec(p *v1.Pod) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.get(p.UID)
	return e != nil && e.Pod == p && e.Phase == lifecycle.Active
}

// isAdopted reports whether the runtime held the pod before podctl knew it.
func (t *podTable) isAdopted(uid types.UID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.get(uid)
	return e != nil && e.Origin == lifecycle.Adopted
}

// isDown reports whether nothing runs of any pod of the pod's name.
func (t *podTable) isDown(p *v1.Pod) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, uid := range t.byName[pod.FullNameOf(p)] {
		e := t.entries[uid]
		down := !e.hasWorker() || e.stage == worker.Terminated || e.stage == worker.Finished ||
			e.Leaving() && !t.workers.IsPodKnown(uid) // its leftovers are removed
		if !down {
			return false
		}
	}
	return true
}

// status returns the pod's last status, if it has one.
func (t *podTable) status(uid types.UID) (v1.PodStatus, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	e := t.get(uid)
	if e == nil || e.status.Phase == "" {
		return v1.PodStatus{}, false
	}
	return e.status, true
}

// phaseOf returns the phase in the pod's status, Pending if it has none.
func (t *podTable) phaseOf(uid types.UID) v1.PodPhase {
	if s, ok := t.status(uid); ok {
		return s.Phase
	}
	return v1.PodPending
}

// record returns the pod's record, zero if the node does not have the pod.
func (t *podTable) record(uid types.UID) poddir.Record {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e := t.get(uid); e != nil {
		return e.record
	}
	return poddir.Record{}
}

// wanted returns the union of all sources; while draining, the pods that are spared.
// t.mu is held.
func (t *podTable) wanted(sources *desired) (map[types.UID]Desired, bool) {
	if t.drain == nil {
		return sources.union()
	}
	spared := map[types.UID]Desired{}
	for uid, e := range t.entries {
		switch {
		case !t.spared(e):
		case e.hasNext():
			spared[uid] = *e.Next
		default:
			spared[uid] = e.Desired
		}
	}
	return spared, true
}

// holdsName reports whether any pod needs the lock of the full name. t.mu is held.
func (t *podTable) holdsName(fullName string) bool {
	for _, uid := range t.byName[fullName] {
		if t.entries[uid].HoldsName() {
			return true
		}
	}
	return false
}

// active are the pods that hold what they request: the desired ones but those
// that are down or have ended by themselves (GetActivePods in
// pkg/kubelet/kubelet_pods.go). What is not desired any more is leaving: else
// no pod could take the place of an older one on a full node. t.mu is held.
func (t *podTable) active() []*v1.Pod {
	return slices.DeleteFunc(t.accounted.Pods(), func(p *v1.Pod) bool { return t.nothingRuns(t.entries[p.UID]) })
}

// accountResources counts the pod among those that hold what they request, or no longer. Of one
// that has ended the worker may know more than its entry. t.mu is held.
func (t *podTable) accountResources(uid types.UID) {
	e := t.entries[uid]
	if e == nil || !e.hasWorker() || !e.IsDesired() || e.hasEnded() {
		t.accounted.Drop(uid)
		return
	}
	t.accounted.Set(e.allocated())
}

// nothingRuns reports whether nothing of a pod runs any more. What the entry says of the
// phase may lag behind. t.mu is held.
func (t *podTable) nothingRuns(e *entry) bool {
	return e.hasEnded() || t.workers.IsPodKnownTerminated(e.UID()) ||
		e.Leaving() && !t.workers.IsPodKnown(e.UID()) // its leftovers are removed
}

// hasEnded reports whether nothing of the pod runs any more, as its entry knows.
func (e *entry) hasEnded() bool {
	return e.stage == worker.Finished || e.stoppedBefore || pod.IsTerminal(e.status.Phase) && e.stage == worker.Syncing
}
