package node

import (
	"context"
	"errors"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/admission"
	"github.com/podctl/podctl/internal/event"
	"github.com/podctl/podctl/internal/lifecycle"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/preempt"
	"github.com/podctl/podctl/internal/worker"
)

// clearing is room that is being made for a critical pod. There is one at a
// time, and no other pod is admitted meanwhile: the kubelet stands still, too.
type clearing struct {
	uid types.UID
	// spec is what the room was made for: a manifest that fixes its uid may
	// ask for more by now.
	spec *v1.PodSpec
	done bool
	// err is why a victim could not be killed, so that the pod is rejected.
	err error
}

// fit reports whether a pod that is new to the node fits on it beside the others;
// the error is an *admission.Error if it does not. If it does once victims are
// gone, they are being evicted, and it does not fit yet: it is asked for again.
func (n *Node) fit(ctx context.Context, p *v1.Pod) (now bool, err error) {
	n.pods.mu.Lock()
	defer n.pods.mu.Unlock()
	if c := n.clearing; c != nil {
		if c.uid != p.UID || !c.done {
			return false, nil
		}
		n.clearing = nil
		if c.err != nil || equality.Semantic.DeepEqual(c.spec, &p.Spec) {
			return c.err == nil, c.err
		}
	}
	if admission.Fits(p, n.opts.Allocatable, &n.pods.accounted) {
		return true, nil
	}
	plan, refused := admission.Fit(p, n.opts.Allocatable, n.pods.active())
	switch {
	case refused != nil:
		return false, refused
	case plan == nil:
		return true, nil
	}
	n.clearing = &clearing{uid: p.UID, spec: &p.Spec}
	n.removals.Go(func() { n.clear(ctx, p, plan) })
	return false, nil
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
	return e.hasEnded() || t.workers.IsPodKnownTerminated(e.UID())
}

// hasEnded reports whether nothing of the pod runs any more, as its entry knows.
func (e *entry) hasEnded() bool {
	return e.stage == worker.Finished || pod.IsTerminal(e.status.Phase) && e.stage == worker.Syncing
}

// clear evicts the victims one after the other, as the kubelet does. One that
// cannot be evicted has the pod rejected: the kubelet would admit it.
func (n *Node) clear(ctx context.Context, p *v1.Pod, plan *preempt.Result) {
	names := make([]string, len(plan.Victims))
	for i, v := range plan.Victims {
		names[i] = pod.DisplayName(v.Namespace, v.Name)
	}
	n.send(p, event.Event{Reason: event.Preempting, Victims: names})
	why := event.Eviction{Cause: event.Preempted, For: pod.DisplayName(p.Namespace, p.Name), Resource: string(plan.Signal)}
	var err error
	for i, v := range plan.Victims {
		if err = n.evict(ctx, v, why); err != nil {
			err = admission.EvictionFailed(names[i], err)
			break
		}
		n.opts.Observer.Preempted(string(plan.Signal))
	}
	n.pods.mu.Lock()
	n.clearing.done, n.clearing.err = true, err
	n.pods.mu.Unlock()
	n.poke()
}

// dropClearing forgets the room that was made for a pod that is not wanted any
// more, or cannot start for another reason. n.pods.mu is held.
func (n *Node) dropClearing(want map[types.UID]Desired) {
	if c := n.clearing; c != nil && c.done {
		if e := n.pods.get(c.uid); want[c.uid].Pod == nil || e != nil && (e.Phase != lifecycle.Waiting || isBlocked(e)) {
			n.clearing = nil
		}
	}
}

// errNotNow: whether the pod may start cannot be told yet.
var errNotNow = errors.New("room is being made for a critical pod")
