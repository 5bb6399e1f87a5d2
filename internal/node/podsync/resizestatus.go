package podsync

import (
	"encoding/json"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
)

// A resize is shown by two conditions, by the kubelet's rules
// (pkg/kubelet/status/status_manager.go): one while the node has not granted it,
// one while what was granted is not given to the containers.

// ResizePending shows that the node cannot grant what the pod asks for now.
func (s *Syncer) ResizePending(p *v1.Pod, message string) {
	m := s.remember(p.UID)
	m.mu.Lock()
	before := m.pending
	m.pending = resizeCondition(v1.PodResizePending, before, v1.PodReasonDeferred, message, p.Generation, s.now())
	m.mu.Unlock()
	if before == nil || before.ObservedGeneration != p.Generation {
		s.resizeEvent(p, true, event.ResizeDeferred, "Pod resize "+v1.PodReasonDeferred, p.Generation, message)
	}
}

// ResizeStarted shows that the node has granted what the pod asks for.
func (s *Syncer) ResizeStarted(p *v1.Pod) {
	m := s.remember(p.UID)
	m.mu.Lock()
	m.pending = nil
	m.progress = resizeCondition(v1.PodResizeInProgress, nil, "", "", p.Generation, s.now())
	m.mu.Unlock()
	s.resizeEvent(p, false, event.ResizeStarted, "Pod resize started", p.Generation, "")
}

// ResizeWithdrawn removes the condition of a pending resize: the pod asks for the
// resources that it has.
func (s *Syncer) ResizeWithdrawn(p *v1.Pod) {
	m := s.remember(p.UID)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.pending = nil
}

func (s *Syncer) now() metav1.Time { return metav1.NewTime(s.opt.Now()) }

// followResize brings the condition in line with what the containers were given,
// and learns that of containers that an earlier podctl started.
func (s *Syncer) followResize(p *v1.Pod, st *pod.Status, adopted *pod.Allocation) {
	m := s.remember(p.UID)
	m.learnActuated(p, st, adopted)
	if m.resizing(p, st) {
		m.mu.Lock()
		if m.progress == nil {
			m.progress = resizeCondition(v1.PodResizeInProgress, nil, "", "", p.Generation, s.now())
		}
		m.mu.Unlock()
		return
	}
	m.mu.Lock()
	done := m.progress
	m.progress = nil
	m.mu.Unlock()
	if done != nil {
		s.resizeEvent(p, false, event.ResizeCompleted, "Pod resize completed", done.ObservedGeneration, "")
		s.opt.Host.Resized(p)
	}
}

// resizeFailed shows why containers could not be given what they were granted.
func (s *Syncer) resizeFailed(p *v1.Pod, err error) {
	m := s.remember(p.UID)
	m.mu.Lock()
	before, generation := m.progress, p.Generation
	if before != nil {
		generation = before.ObservedGeneration
	}
	m.progress = resizeCondition(v1.PodResizeInProgress, before, v1.PodReasonError, err.Error(), generation, s.now())
	m.mu.Unlock()
	if before == nil || before.Reason != v1.PodReasonError || before.Message != err.Error() {
		s.resizeEvent(p, true, event.ResizeError, "Pod resize error", generation, err.Error())
	}
}

// learnActuated records the resources of running containers for which none are recorded
// yet.
func (m *memory) learnActuated(p *v1.Pod, st *pod.Status, adopted *pod.Allocation) {
	was := adopted.Apply(p)
	if m.actuatedPod == nil {
		m.actuatedPod, m.resources = podAmounts(was), pod.Resources(was)
	}
	for c := range pod.Containers(was) {
		cs := st.Container(c.Name)
		if cs != nil && cs.State == pod.Running && m.actuated[c.Name].id != cs.ID {
			m.actuated[c.Name] = actuated{cs.ID, pod.AmountsOf(was, c)}
		}
	}
}

// resizing reports whether a running container, or the pod, was given something
// else than it asks for (IsPodResizeInProgress in
// pkg/kubelet/kuberuntime/kuberuntime_manager.go).
func (m *memory) resizing(p *v1.Pod, st *pod.Status) bool {
	if *m.actuatedPod != *podAmounts(p) {
		return true
	}
	for c := range pod.Containers(p) {
		cs := st.Container(c.Name)
		if cs != nil && cs.State == pod.Running && m.actuated[c.Name].id == cs.ID && m.actuated[c.Name].amounts != pod.AmountsOf(p, c) {
			return true
		}
	}
	return false
}

// actuatedAmounts returns what runs of containers were given, by container id.
func (m *memory) actuatedAmounts() map[string]pod.Amounts {
	all := map[string]pod.Amounts{}
	for _, a := range m.actuated {
		all[a.id] = a.amounts
	}
	return all
}

// actuated returns what the pod's containers were given, for a plan.
func (r *run) actuated() map[string]pod.Amounts {
	all := map[string]pod.Amounts{}
	for name, a := range r.m.actuated {
		if cs := r.st.Container(name); cs != nil && cs.ID == a.id {
			all[name] = a.amounts
		}
	}
	return all
}

// resizeConditions returns the pod's resize conditions; none if the pod has ended.
func (m *memory) resizeConditions(ended bool) []v1.PodCondition {
	m.mu.Lock()
	defer m.mu.Unlock()
	if ended {
		m.pending, m.progress = nil, nil
	}
	var list []v1.PodCondition
	for _, c := range []*v1.PodCondition{m.pending, m.progress} {
		if c != nil {
			list = append(list, *c)
		}
	}
	return list
}

func resizeCondition(t v1.PodConditionType, before *v1.PodCondition, reason, message string, generation int64, now metav1.Time) *v1.PodCondition {
	since := now
	if before != nil && before.Reason == reason {
		since = before.LastTransitionTime
	}
	return &v1.PodCondition{
		Type: t, Status: v1.ConditionTrue, Reason: reason, Message: message, ObservedGeneration: generation,
		LastProbeTime: now, LastTransitionTime: since,
	}
}

// resizeEvent sends an event about a resize. Its message is the kubelet's: what the pod asks for,
// as JSON (pkg/kubelet/events/resize.go).
func (s *Syncer) resizeEvent(p *v1.Pod, warning bool, reason, what string, generation int64, problem string) {
	of := func(containers []v1.Container) (all []event.ResizedContainer) {
		for i := range containers {
			all = append(all, event.ResizedContainer{Name: containers[i].Name, Resources: containers[i].Resources})
		}
		return all
	}
	resize := event.Resize{InitContainers: of(p.Spec.InitContainers), Containers: of(p.Spec.Containers), Generation: generation, Error: problem}
	message := what
	if text, err := json.Marshal(resize); err == nil {
		message += ": " + string(text)
	}
	s.opt.Host.Event(p, event.Event{Warning: warning, Reason: reason, Message: message, Resize: &resize})
}

func phaseOf(s *v1.PodStatus) v1.PodPhase {
	if s == nil {
		return ""
	}
	return s.Phase
}
