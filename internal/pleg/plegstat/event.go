package plegstat

import (
	"slices"
	"time"

	"github.com/podctl/podctl/internal/pleg"
	"github.com/podctl/podctl/internal/pod"
)

// Event is an event of a PLEG and when podctl received it.
type Event struct {
	pleg.Event
	Received time.Time
}

// Happened returns when the event happened according to the runtime; zero if
// the runtime does not say.
func (ev Event) Happened() time.Time {
	if c := ev.ContainerStatus(); c != nil {
		switch {
		case ev.Type == pleg.ContainerStarted:
			return c.StartedAt
		case ev.Type == pleg.ContainerDied && c.State == pod.Exited:
			return c.FinishedAt
		}
	}
	if s := ev.SandboxStatus(); s != nil && ev.Type == pleg.ContainerStarted {
		return s.CreatedAt
	}
	return time.Time{}
}

// Lag returns how long after the event podctl received it; not ok if that is
// unknown, the event precedes the watch, or InFuture.
func (ev Event) Lag() (lag time.Duration, ok bool) {
	happened := ev.Happened()
	if ev.Initial || happened.IsZero() || ev.InFuture() {
		return 0, false
	}
	return max(0, ev.Received.Sub(happened)), true
}

// InFuture reports whether the event happened after podctl received it, by the runtime's
// time: a clock was set back, and the lag is not known.
func (ev Event) InFuture() bool { return !ev.Initial && ev.Happened().Sub(ev.Received) > resolution }

// resolution is how far apart two times may be that count as the same.
const resolution = time.Millisecond

// ContainerStatus returns the status of the container that the event is about,
// nil if there is none.
func (ev Event) ContainerStatus() *pod.ContainerStatus {
	if ev.Status == nil || ev.Container == "" {
		return nil
	}
	return ev.Status.ContainerByID(ev.ID)
}

// SandboxStatus returns the status of the sandbox that the event is about, nil
// if there is none.
func (ev Event) SandboxStatus() *pod.SandboxStatus {
	if ev.Status == nil || ev.Container != "" {
		return nil
	}
	for _, s := range ev.Status.Sandboxes {
		if s.ID == ev.ID {
			return s
		}
	}
	return nil
}

// Failed reports whether a container exited with an error.
func (ev Event) Failed() bool {
	c := ev.ContainerStatus()
	return ev.Type == pleg.ContainerDied && c != nil && c.State == pod.Exited && c.ExitCode != 0
}

// Filter selects events. The zero value selects all.
type Filter struct {
	Namespace string
	Pods      []string // names, or namespace/name
}

// Matches reports whether the filter selects an event.
func (f Filter) Matches(ev pleg.Event) bool {
	if f.Namespace != "" && ev.Namespace != f.Namespace {
		return false
	}
	return len(f.Pods) == 0 || slices.Contains(f.Pods, ev.Name) || slices.Contains(f.Pods, pod.DisplayName(ev.Namespace, ev.Name))
}
