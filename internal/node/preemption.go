package node

import (
	"context"
	"errors"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/node/admission"
	"github.com/podctl/podctl/internal/node/lifecycle"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
	"github.com/podctl/podctl/internal/preempt"
)

// preemption makes room for critical pods, for one at a time. No other pod is admitted
// meanwhile: the kubelet's sync loop blocks in this case as well.
type preemption struct {
	pods        *podTable
	evictor     *evictor
	events      *eventSender
	observer    Observer
	allocatable v1.ResourceList
	background  *sync.WaitGroup
	wake        wakeup

	// mu is taken after pods.mu.
	mu sync.Mutex
	// room is what is being made or has been made, nil if none is.
	room *room
}

// room is what is made for a critical pod.
type room struct {
	uid types.UID
	// spec is what the room was made for: a manifest that fixes its uid may
	// ask for more by now.
	spec *v1.PodSpec
	done bool
	// err is why a victim could not be evicted, so that the pod is rejected.
	err error
}

// fit reports whether a pod that is new to the node fits on it beside the others;
// the error is an *admission.Error if it does not. If it does once victims are
// gone, they are being evicted, and it does not fit yet: it is asked for again.
func (m *preemption) fit(ctx context.Context, p *v1.Pod) (now bool, err error) {
	m.pods.mu.Lock()
	defer m.pods.mu.Unlock()
	m.mu.Lock()
	defer m.mu.Unlock()
	if r := m.room; r != nil {
		if r.uid != p.UID || !r.done {
			return false, nil
		}
		m.room = nil
		if r.err != nil || equality.Semantic.DeepEqual(r.spec, &p.Spec) {
			return r.err == nil, r.err
		}
	}
	if admission.Fits(p, m.allocatable, &m.pods.accounted) {
		return true, nil
	}
	plan, refused := admission.Fit(p, m.allocatable, m.pods.active())
	switch {
	case refused != nil:
		return false, refused
	case plan == nil:
		return true, nil
	}
	m.room = &room{uid: p.UID, spec: &p.Spec}
	m.background.Go(func() { m.evictVictims(ctx, p, plan) })
	return false, nil
}

// evictVictims evicts the victims of the plan one after the other, as the kubelet does.
// If one cannot be evicted the pod is rejected: the kubelet would admit it.
func (m *preemption) evictVictims(ctx context.Context, p *v1.Pod, plan *preempt.Result) {
	names := make([]string, len(plan.Victims))
	for i, v := range plan.Victims {
		names[i] = pod.DisplayName(v.Namespace, v.Name)
	}
	m.events.send(p, event.Event{Reason: event.Preempting, Victims: names})
	why := event.Eviction{Cause: event.Preempted, For: pod.DisplayName(p.Namespace, p.Name), Resource: string(plan.Signal)}
	var err error
	for i, v := range plan.Victims {
		if err = m.evictor.evict(ctx, v, why); err != nil {
			err = admission.EvictionFailed(names[i], err)
			break
		}
		m.observer.Preempted(string(plan.Signal))
	}
	m.mu.Lock()
	m.room.done, m.room.err = true, err
	m.mu.Unlock()
	m.wake.signal()
}

// dropStale forgets the room that was made for a pod that is not desired any more, or
// cannot start for another reason. pods.mu is held.
func (m *preemption) dropStale(want map[types.UID]Desired) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r := m.room; r != nil && r.done {
		if e := m.pods.get(r.uid); want[r.uid].Pod == nil || e != nil && (e.Phase != lifecycle.Waiting || isBlocked(e)) {
			m.room = nil
		}
	}
}

// errMakingRoom: whether the pod may start cannot be told yet.
var errMakingRoom = errors.New("room is being made for a critical pod")
