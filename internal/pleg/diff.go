package pleg

import (
	"slices"

	"github.com/podctl/podctl/internal/pod"
)

// phase is what Diff distinguishes: a created container counts as unknown
// (pkg/kubelet/pleg/generic.go, convertState).
type phase uint8

const (
	absent phase = iota
	running
	exited
	unknown
)

func phaseOf(s pod.State) phase {
	switch s {
	case pod.Running:
		return running
	case pod.Exited:
		return exited
	default:
		return unknown
	}
}

// Diff returns the events that lie between two listings of one pod; nil
// stands for a listing that does not have it. The containers and sandboxes of
// old come first, then the new ones, each container before the sandboxes
// (pkg/kubelet/pleg/generic.go, computeEvents). Source, At and Status are unset.
func Diff(old, new *pod.Pod) []Event {
	if isSame(old, new) {
		return nil
	}
	now := phases(new)
	before := phases(old)
	var events []Event
	compare := func(p *pod.Pod, id, container string) {
		for _, t := range transition(before[id], now[id]) {
			events = append(events, Event{PodUID: p.UID, Type: t, ID: id, Namespace: p.Namespace, Name: p.Name, Container: container})
		}
	}
	if old != nil {
		eachContainer(old, func(id, name string) { compare(old, id, name) })
	}
	if new != nil {
		eachContainer(new, func(id, name string) {
			if before[id] == absent {
				compare(new, id, name)
			}
		})
	}
	return events
}

// transition returns the events between two phases of a container.
func transition(old, new phase) []EventType {
	switch {
	case old == new:
		return nil
	case new == running:
		return []EventType{ContainerStarted}
	case new == exited:
		return []EventType{ContainerDied}
	case new == unknown:
		return []EventType{ContainerChanged}
	case old == exited:
		return []EventType{ContainerRemoved}
	default: // it vanished before it was seen dead
		return []EventType{ContainerDied, ContainerRemoved}
	}
}

// wasCreated reports whether a container that was created is unknown now, which Diff does not
// tell apart: with the status of before, a sync would start another one beside it.
func wasCreated(old, new *pod.Pod) bool {
	if old == new || old == nil || new == nil {
		return false
	}
	return slices.ContainsFunc(new.Containers, func(c *pod.Container) bool {
		return c.State == pod.Unknown && slices.ContainsFunc(old.Containers, func(o *pod.Container) bool { return o.ID == c.ID && o.State == pod.Created })
	})
}

// isSame is the common case, decided without allocating: the same containers
// and sandboxes, in the same order, in the same phases.
func isSame(a, b *pod.Pod) bool {
	if a == b || a == nil || b == nil {
		return a == b
	}
	return slices.EqualFunc(a.Containers, b.Containers, func(x, y *pod.Container) bool {
		return phaseOf(x.State) == phaseOf(y.State) && x.ID == y.ID
	}) && slices.EqualFunc(a.Sandboxes, b.Sandboxes, func(x, y *pod.Sandbox) bool {
		return phaseOf(x.State) == phaseOf(y.State) && x.ID == y.ID
	})
}

func phases(p *pod.Pod) map[string]phase {
	if p == nil {
		return nil
	}
	m := make(map[string]phase, len(p.Containers)+len(p.Sandboxes))
	for _, s := range p.Sandboxes {
		m[s.ID] = phaseOf(s.State)
	}
	for _, c := range p.Containers {
		m[c.ID] = phaseOf(c.State)
	}
	return m
}

func eachContainer(p *pod.Pod, f func(id, container string)) {
	for _, c := range p.Containers {
		f(c.ID, c.Name)
	}
	for _, s := range p.Sandboxes {
		f(s.ID, "")
	}
}
