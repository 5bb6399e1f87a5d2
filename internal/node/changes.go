package node

import (
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
)

// changes says in events what differs between two statuses of one pod: what
// the runtime did by itself, which no operation can report. Pure.
func changes(before, after *v1.PodStatus) []Event {
	var events []Event
	add := func(e Event, format string, args ...any) {
		e.Message, e.Phase = fmt.Sprintf(format, args...), after.Phase
		events = append(events, e)
	}
	for _, all := range [...][2][]v1.ContainerStatus{
		{before.InitContainerStatuses, after.InitContainerStatuses},
		{before.ContainerStatuses, after.ContainerStatuses},
	} {
		for i := range all[1] {
			now := &all[1][i]
			was := statusNamed(all[0], now.Name)
			if t := ended(was, now); t != nil { // what runs now was started after that
				attempt := now.RestartCount
				if t != now.State.Terminated && now.State.Running != nil {
					attempt--
				}
				add(Event{Container: now.Name, Reason: ReasonExited, Warning: t.ExitCode != 0, Attempt: attempt}, "%s", exitMessage(now.Name, t))
			}
			if started(was, now) {
				add(Event{Container: now.Name, Reason: ReasonRunning, Attempt: now.RestartCount}, "%s runs", now.Name)
			}
		}
	}
	if restartsAll := v1.AllContainersRestarting; isTrue(after, restartsAll) && !isTrue(before, restartsAll) {
		add(Event{Reason: ReasonRestartingAll}, "a restart rule asks for it: all containers start anew")
	}
	if isReady(after) && !isReady(before) {
		add(Event{Reason: ReasonReady}, "all containers are ready")
	}
	if isReady(before) && !isReady(after) && allRun(after) {
		add(Event{Reason: ReasonNotReady, Warning: true}, "%s", conditionOf(after, v1.PodReady).Message)
	}
	if pod.IsTerminal(after.Phase) && after.Phase != before.Phase {
		add(Event{Reason: ReasonEnded, Warning: after.Phase == v1.PodFailed}, "%s", endMessage(after))
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

func started(was, now *v1.ContainerStatus) bool {
	return now.State.Running != nil && (was.State.Running == nil || was.ContainerID != now.ContainerID)
}

// ended returns how a container ended that had not ended that way before; a
// container that was restarted meanwhile shows it as its last state. How one
// ended that was removed to start all anew is not known.
func ended(was, now *v1.ContainerStatus) *v1.ContainerStateTerminated {
	if was.ContainerID == "" && now.ContainerID == "" {
		return nil // it never was
	}
	for _, t := range [...]*v1.ContainerStateTerminated{now.LastTerminationState.Terminated, now.State.Terminated} {
		if t == nil || t.Reason == ReasonRestartingAll || sameEnd(t, was.State.Terminated) || sameEnd(t, was.LastTerminationState.Terminated) {
			continue
		}
		return t
	}
	return nil
}

func sameEnd(a, b *v1.ContainerStateTerminated) bool {
	return b != nil && a.ContainerID == b.ContainerID && a.ExitCode == b.ExitCode
}

func exitMessage(name string, t *v1.ContainerStateTerminated) string {
	text := fmt.Sprintf("%s exited %d", name, t.ExitCode)
	if !t.StartedAt.IsZero() && t.FinishedAt.After(t.StartedAt.Time) {
		text += " after " + shortDuration(t.FinishedAt.Sub(t.StartedAt.Time))
	}
	switch t.Reason {
	case "", "Completed", "Error":
	default:
		text += ", " + t.Reason
	}
	if t.Message != "" {
		text += fmt.Sprintf(": %q", strings.TrimSpace(t.Message))
	}
	return text
}

func shortDuration(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", d.Seconds())
	default:
		return d.Round(time.Second).String()
	}
}

func endMessage(s *v1.PodStatus) string {
	text := "the pod has succeeded"
	if s.Phase == v1.PodFailed {
		text = "the pod has failed"
	}
	if s.Reason != "" {
		text += ": " + s.Reason
	}
	if s.Message != "" {
		text += ": " + s.Message
	}
	return text
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

// allRun tells whether every regular container runs: whatever the pod lacks
// then, none of them has exited.
func allRun(s *v1.PodStatus) bool {
	return !slices.ContainsFunc(s.ContainerStatuses, func(c v1.ContainerStatus) bool { return c.State.Running == nil })
}
