package node

import (
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
)

// changes returns as events what differs between two statuses of one pod: what
// the runtime did by itself, which no operation can report. Pure.
func changes(before, after *v1.PodStatus) []event.Event {
	var events []event.Event
	add := func(e event.Event) {
		e.Phase = after.Phase
		events = append(events, e)
	}
	for _, all := range [...][2][]v1.ContainerStatus{
		{before.InitContainerStatuses, after.InitContainerStatuses},
		{before.ContainerStatuses, after.ContainerStatuses},
	} {
		for i := range all[1] {
			now := &all[1][i]
			was := statusNamed(all[0], now.Name)
			if t := newTermination(was, now); t != nil { // what runs now was started after that
				attempt := now.RestartCount
				if t != now.State.Terminated && now.State.Running != nil {
					attempt--
				}
				add(event.Event{Container: now.Name, Reason: event.Exited, Warning: t.ExitCode != 0, Attempt: attempt, Exit: event.ExitOf(t)})
			}
			if hasStarted(was, now) {
				add(event.Event{Container: now.Name, Reason: event.Running, Attempt: now.RestartCount})
			}
		}
	}
	if restartsAll := v1.AllContainersRestarting; isTrue(after, restartsAll) && !isTrue(before, restartsAll) {
		add(event.Event{Reason: event.RestartingAllContainers})
	}
	if isReady(after) && !isReady(before) {
		add(event.Event{Reason: event.Ready})
	}
	if isReady(before) && !isReady(after) && allContainersRun(after) {
		add(event.Event{Reason: event.NotReady, Warning: true, Message: conditionOf(after, v1.PodReady).Message})
	}
	if pod.IsTerminal(after.Phase) && after.Phase != before.Phase {
		ended := event.Event{Reason: event.Ended, Warning: after.Phase == v1.PodFailed}
		if after.Reason != "" || after.Message != "" {
			ended.End = &event.End{Reason: after.Reason, Message: after.Message}
		}
		add(ended)
	}
	return events
}

// statusNamed returns the status of that name, or an empty one.
func statusNamed(all []v1.ContainerStatus, name string) *v1.ContainerStatus {
	for i := range all {
		if all[i].Name == name {
			return &all[i]
		}
	}
	return &v1.ContainerStatus{}
}

func hasStarted(was, now *v1.ContainerStatus) bool {
	return now.State.Running != nil && (was.State.Running == nil || was.ContainerID != now.ContainerID)
}

// newTermination returns how a container ended since the status before, nil if it did not:
// one that was restarted meanwhile shows that as its last state. It is not known how a
// container ended that was removed because all containers are restarted.
func newTermination(was, now *v1.ContainerStatus) *v1.ContainerStateTerminated {
	if was.ContainerID == "" && now.ContainerID == "" {
		return nil // it never was
	}
	for _, t := range [...]*v1.ContainerStateTerminated{now.LastTerminationState.Terminated, now.State.Terminated} {
		if t == nil || t.Reason == event.RestartingAllContainers || isSameTermination(t, was.State.Terminated) || isSameTermination(t, was.LastTerminationState.Terminated) {
			continue
		}
		return t
	}
	return nil
}

func isSameTermination(a, b *v1.ContainerStateTerminated) bool {
	return b != nil && a.ContainerID == b.ContainerID && a.ExitCode == b.ExitCode
}

func isReady(s *v1.PodStatus) bool { return isTrue(s, v1.PodReady) }

func isTrue(s *v1.PodStatus, t v1.PodConditionType) bool {
	return conditionOf(s, t).Status == v1.ConditionTrue
}

// conditionOf returns the condition, an empty one if the status has none.
func conditionOf(s *v1.PodStatus, t v1.PodConditionType) v1.PodCondition {
	for _, c := range s.Conditions {
		if c.Type == t {
			return c
		}
	}
	return v1.PodCondition{}
}

// allContainersRun reports whether every regular container runs.
func allContainersRun(s *v1.PodStatus) bool {
	return !slices.ContainsFunc(s.ContainerStatuses, func(c v1.ContainerStatus) bool { return c.State.Running == nil })
}

// eventSender completes events and hands them to Options.Events, one after the other.
type eventSender struct {
	pods *podTable
	// mu serializes the calls of sink.
	mu   sync.Mutex
	sink func(event.Event)
}

// send sends an event of the pod.
func (s *eventSender) send(p *v1.Pod, ev event.Event) {
	ev.UID, ev.Namespace, ev.Name = p.UID, p.Namespace, p.Name
	if ev.Phase == "" {
		ev.Phase = s.pods.phaseOf(p.UID)
	}
	s.emit(ev)
}

// emit sends an event as it is, of a pod or of none.
func (s *eventSender) emit(ev event.Event) {
	ev.Time = time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.sink != nil {
		s.sink(ev)
	}
}

// Report sends an event of one of the node's pods. It is safe for concurrent use.
func (n *Node) Report(p *v1.Pod, ev event.Event) { n.events.send(p, n.sync.Masked(p, ev)) }
