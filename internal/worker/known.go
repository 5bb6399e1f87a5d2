package worker

import (
	"cmp"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

// Known is one pod as SyncKnownPods reports it (PodWorkerSync in
// pkg/kubelet/pod_workers.go).
type Known struct {
	Phase Phase
	// Orphan: it is not among the desired pods.
	Orphan bool
	// HasConfig: the worker has a spec of it.
	HasConfig bool
	// Static: that spec came from a source other than the API server.
	Static bool
}

// SyncKnownPods sets which pods are desired, all of them. Pods that are not
// are stopped, or forgotten if they are finished; so are finished ones that
// were created again. It returns every pod that is still known: the caller
// creates the desired ones that it does not find there. From the first call on
// a pod that is not known cannot be running. It must not be called before
// every desired pod of every source has been seen.
func (w *Workers) SyncKnownPods(desired []*v1.Pod) map[types.UID]Known {
	wanted := make(map[types.UID]bool, len(desired))
	for _, p := range desired {
		wanted[p.UID] = true
	}

	w.mu.Lock()
	w.synced = true
	known := make(map[types.UID]Known, len(w.pods))
	for _, uid := range slices.Sorted(maps.Keys(w.pods)) {
		w.step(uid, Reconcile{Desired: wanted[uid]})
		if p, ok := w.pods[uid]; ok {
			spec := p.state.reportedPod()
			known[uid] = Known{
				Phase:     p.state.Phase,
				Orphan:    !wanted[uid],
				HasConfig: spec != nil,
				Static:    spec != nil && pod.IsStatic(spec),
			}
		}
	}
	w.mu.Unlock()
	w.notifications.deliver()
	return known
}

// Info is one pod as the worker sees it.
type Info struct {
	State
	// NextWake is when the pod is looked at again at the latest, zero if no
	// wake-up is pending.
	NextWake time.Time
	// NameHolder is the pod whose full name this one waits for, "" if it does
	// not wait.
	NameHolder types.UID
}

// Snapshot returns every known pod, by namespace, name and UID.
func (w *Workers) Snapshot() []Info {
	w.mu.Lock()
	defer w.mu.Unlock()
	infos := make([]Info, 0, len(w.pods))
	byName := func(a, b *podWorker) int {
		return cmp.Or(cmp.Compare(a.state.Namespace, b.state.Namespace), cmp.Compare(a.state.Name, b.state.Name), cmp.Compare(a.state.UID, b.state.UID))
	}
	for _, p := range slices.SortedFunc(maps.Values(w.pods), byName) {
		info := Info{State: p.state, NextWake: p.wakeAt}
		if p.state.waitsForName() {
			v := w.names.View(p.state.FullName(), p.state.UID, w.mayStart)
			info.NameHolder = cmp.Or(v.Holder, v.Next)
		}
		infos = append(infos, info)
	}
	return infos
}

// The queries about a pod by its UID have the kubelet's names
// (pkg/kubelet/pod_workers.go). docs/worker.md has the table of the formulas. For an
// unknown pod the answer changes with the first SyncKnownPods: before it the pod might
// be running, after it it cannot be.

// ShouldPodContentBeRemoved: the pod's directories may go.
func (w *Workers) ShouldPodContentBeRemoved(uid types.UID) bool {
	return w.query(uid, func(s State) bool { return s.Evicted || s.Deleted && isTerminated(s) }, onceSynced)
}

// IsPodTerminationRequested: there was a stop request.
func (w *Workers) IsPodTerminationRequested(uid types.UID) bool {
	return w.query(uid, func(s State) bool { return s.Phase >= Terminating }, never)
}

// IsPodKnownTerminated: the pod is known, and nothing of it runs.
func (w *Workers) IsPodKnownTerminated(uid types.UID) bool {
	return w.query(uid, isTerminated, never)
}

// IsPodKnown reports whether the worker remembers the UID.
func (w *Workers) IsPodKnown(uid types.UID) bool {
	return w.query(uid, func(State) bool { return true }, never)
}

// query answers from the pod's state, or for an unknown pod from whether the workers have
// synced.
func (w *Workers) query(uid types.UID, known func(State) bool, unknown func(synced bool) bool) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if p, ok := w.pods[uid]; ok {
		return known(p.state)
	}
	return unknown(w.synced)
}

func isTerminated(s State) bool { return s.Phase >= Terminated }

func onceSynced(synced bool) bool { return synced }

func never(bool) bool { return false }
