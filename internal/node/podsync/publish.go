package podsync

import (
	"context"
	"fmt"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
)

// publish computes the pod's status, applies change to it, and keeps and
// publishes the result. It returns the status to act on, also where that is
// not the one kept because it was refused. Ended: no container restarts.
func (s *Syncer) publish(p *v1.Pod, st *pod.Status, ended bool, change func(*v1.PodStatus)) v1.PodStatus {
	m := s.remember(p.UID)
	var computed v1.PodStatus
	s.updateStatus(p, m, func(old *v1.PodStatus) v1.PodStatus {
		held := asInAPIServer(p, st, old)
		in := s.statusInput(p.UID, old)
		in.Ended = ended
		in.Resize = m.resizeConditions(pod.IsTerminal(phaseOf(old)))
		in.Actuated, in.PodResources = m.actuatedAmounts(), m.resources
		if !ended {
			in.Waiting = m.waiting
		}
		computed = PodStatus(held, st, in)
		if old == nil {
			addMounts(&computed, p, st)
		}
		if change != nil {
			change(&computed)
		}
		keepCause(&computed, old)
		// Before Settle cuts messages: the beginning of a value is not recognized.
		computed = maskStatus(s.maskOf(p.UID), computed)
		kept, err := Settle(held, old, computed, in.Now)
		if err == nil {
			kept.Conditions = withExternalConditions(kept.Conditions, computed.Conditions, old, in.Now)
			computed = kept
			return kept
		}
		s.opt.Log.Warn("status refused", "pod", pod.DisplayName(p.Namespace, p.Name), "uid", p.UID, "err", err)
		if old == nil {
			return computed
		}
		computed.StartTime = old.StartTime
		return *old
	})
	return computed
}

// publishFinal publishes the status that the pod ends with.
func (s *Syncer) publishFinal(p *v1.Pod) v1.PodStatus {
	return s.updateStatus(p, s.remember(p.UID), func(old *v1.PodStatus) v1.PodStatus {
		held := *p
		if old != nil {
			held.Status = *old
		}
		return Finish(&held, old, s.opt.Now())
	})
}

// Probed updates the pod's status with the current probe results, also while an
// operation runs. A pod without a status is not changed (SetContainerReadiness in
// pkg/kubelet/status/status_manager.go).
func (s *Syncer) Probed(p *v1.Pod) {
	s.mu.Lock()
	m := s.pods[p.UID]
	known := m != nil && m.status != nil
	s.mu.Unlock()
	if !known {
		return
	}
	s.updateStatus(p, m, func(old *v1.PodStatus) v1.PodStatus {
		in := s.statusInput(p.UID, old)
		kept, err := Settle(p, old, probed(p, old, in), in.Now)
		if err != nil {
			return *old
		}
		return kept
	})
}

func (s *Syncer) statusInput(uid types.UID, old *v1.PodStatus) StatusInput {
	return StatusInput{
		Old:         old,
		Probes:      s.opt.Host.Probes(uid),
		HostIPs:     s.opt.Node.IPs,
		RuntimeName: s.opt.RuntimeName,
		Begun:       s.begun,
		Now:         s.opt.Now(),
	}
}

// updateStatus replaces the pod's status by what next returns for the previous one, and
// publishes it. Statuses of one pod are published in the order in which they are
// computed.
func (s *Syncer) updateStatus(p *v1.Pod, m *memory, next func(old *v1.PodStatus) v1.PodStatus) v1.PodStatus {
	m.telling.Lock()
	defer m.telling.Unlock()
	s.mu.Lock()
	old := m.status
	s.mu.Unlock()
	status := next(old)
	s.mu.Lock()
	m.status = status.DeepCopy()
	s.mu.Unlock()
	s.opt.Host.Published(p, *status.DeepCopy())
	return status
}

// asInAPIServer returns the pod with the status that an API server would hold of it:
// a phase that was terminal stays, and a pod that was adopted started with its
// first sandbox.
func asInAPIServer(p *v1.Pod, st *pod.Status, old *v1.PodStatus) *v1.Pod {
	held := *p
	switch {
	case old != nil:
		if pod.IsTerminal(old.Phase) {
			held.Status.Phase = old.Phase
		}
	case held.Status.StartTime.IsZero():
		held.Status.StartTime = firstSandbox(st)
	}
	return &held
}

// withExternalConditions returns kept with the current conditions that others set. The status is
// otherwise kept, but an API server would have these conditions. One
// without a time of its transition, as in a manifest, gets it here.
func withExternalConditions(kept, computed []v1.PodCondition, old *v1.PodStatus, now time.Time) []v1.PodCondition {
	all := make([]v1.PodCondition, 0, len(computed))
	for _, c := range computed {
		switch same := conditionOf(kept, c.Type); {
		case pod.OwnsCondition(c.Type) && same != nil:
			c = *same
		case c.LastTransitionTime.IsZero() && old != nil:
			c.LastTransitionTime = transitionTime(&c, old, now)
			cut(&c.LastTransitionTime)
		case c.LastTransitionTime.IsZero():
			c.LastTransitionTime = metav1.NewTime(now).Rfc3339Copy()
		}
		all = append(all, c)
	}
	return all
}

// keepCause preserves the reason and message of a failed pod, even if its containers
// exit with 0 afterwards. The kubelet drops them there.
func keepCause(s, old *v1.PodStatus) {
	if old != nil && pod.IsTerminal(old.Phase) && s.Phase == old.Phase && s.Reason == "" {
		s.Reason, s.Message = old.Reason, old.Message
	}
}

// firstSandbox returns when the oldest of the pod's sandboxes was created, nil if
// there is none.
func firstSandbox(st *pod.Status) *metav1.Time {
	var first *metav1.Time
	for _, s := range st.Sandboxes {
		if !s.CreatedAt.IsZero() && (first == nil || s.CreatedAt.Before(first.Time)) {
			first = &metav1.Time{Time: s.CreatedAt}
		}
	}
	return first
}

// addMounts adds the mounts of containers that the runtime held before the pod
// had a status: the kubelet learns them from the API server.
func addMounts(s *v1.PodStatus, p *v1.Pod, st *pod.Status) {
	for c := range pod.AllContainers(p) {
		cs := findIn(s, c.Name)
		if cs == nil || len(cs.VolumeMounts) > 0 {
			continue
		}
		cs.VolumeMounts = volumeMounts(c)
		if run := st.Container(c.Name); run != nil {
			cs.VolumeMounts = mountsAsMade(cs.VolumeMounts, run.Mounts)
		}
	}
}

// normal sends an event in the kubelet's words.
func (s *Syncer) normal(p *v1.Pod, container, reason, format string, args ...any) {
	s.opt.Host.Event(p, event.Event{Container: container, Reason: reason, Message: fmt.Sprintf(format, args...)})
}

// warn sends a warning in the kubelet's words.
func (s *Syncer) warn(p *v1.Pod, container, reason, format string, args ...any) {
	s.opt.Host.Event(p, event.Event{Container: container, Warning: true, Reason: reason, Message: fmt.Sprintf(format, args...)})
}

// failed sends a warning about a step of an operation that failed in a layer, unless the
// operation was interrupted.
func (s *Syncer) failed(ctx context.Context, p *v1.Pod, reason, op string, layer event.Layer, err error, format string, args ...any) {
	if ctx.Err() != nil {
		return
	}
	s.opt.Host.Event(p, event.Event{
		Warning: true, Reason: reason, Message: fmt.Sprintf(format, args...),
		Failure: &event.Failure{Op: op, Layer: layer, Text: err.Error()},
	})
}

// unstarted sends an event about a start that failed: e has its reason and
// what else is known, w why the container waits now. The message is the
// kubelet's.
func (s *Syncer) unstarted(p *v1.Pod, e event.Event, w event.ContainerWait, format string, args ...any) {
	e.Message, e.Waiting = fmt.Sprintf(format, args...), &w
	e.Warning = e.Reason != event.BackOff || w.Reason != reasonImagePullBackOff // as the kubelet has it
	s.opt.Host.Event(p, e)
}

// The operations that podsync's failures name, as the worker calls them.
const (
	opSync      = "sync"
	opTerminate = "terminate"
	opCleanup   = "cleanup"
)

// replaceID replaces a container's id in a text by its name: ids change from run
// to run, and equal events should look equal.
func replaceID(message, id, name string) string {
	if id == "" {
		return message
	}
	return strings.ReplaceAll(message, id, name)
}

// podRef returns a pod in the kubelet's messages: name_namespace(uid).
func podRef(p *v1.Pod) string {
	return pod.FullNameOf(p) + "(" + string(p.UID) + ")"
}
