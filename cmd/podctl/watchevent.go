package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/podctl/podctl/internal/pleg"
	"github.com/podctl/podctl/internal/pod"
)

// seenEvent is an event, and when podctl knew of it.
type seenEvent struct {
	pleg.Event
	at time.Time
}

// happened is when the runtime says that the event happened; zero where it
// does not say.
func (ev seenEvent) happened() time.Time {
	if c := ev.container(); c != nil {
		switch {
		case ev.Type == pleg.ContainerStarted:
			return c.StartedAt
		case ev.Type == pleg.ContainerDied && c.State == pod.Exited:
			return c.FinishedAt
		}
	}
	if s := ev.sandbox(); s != nil && ev.Type == pleg.ContainerStarted {
		return s.CreatedAt
	}
	return time.Time{}
}

// lag is how late podctl knew; not ok where that is unknown, or where it was
// not watching yet.
func (ev seenEvent) lag() (lag time.Duration, ok bool) {
	happened := ev.happened()
	if happened.IsZero() || ev.Initial {
		return 0, false
	}
	return max(0, ev.at.Sub(happened)), true
}

// container is the status of the container that the event is about, nil where
// there is none.
func (ev seenEvent) container() *pod.ContainerStatus {
	if ev.Status == nil || ev.Container == "" {
		return nil
	}
	return ev.Status.ContainerByID(ev.ID)
}

// sandbox is the status of the sandbox that the event is about.
func (ev seenEvent) sandbox() *pod.SandboxStatus {
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

// failed tells whether a container ended badly.
func (ev seenEvent) failed() bool {
	c := ev.container()
	return ev.Type == pleg.ContainerDied && c != nil && c.State == pod.Exited && c.ExitCode != 0
}

func (ev seenEvent) podName() string {
	if ev.Name == "" {
		return string(ev.PodUID)
	}
	return pod.DisplayName(ev.Namespace, ev.Name)
}

// containerName is "(sandbox)" for a sandbox.
func (ev seenEvent) containerName() string {
	switch {
	case ev.Container != "":
		return ev.Container
	case ev.ID != "":
		return "(sandbox)"
	}
	return ""
}

// detail is what else is to be said: a sandbox's addresses, how a container
// ended, how often it was started again.
func (ev seenEvent) detail() string {
	c, s := ev.container(), ev.sandbox()
	switch ev.Type {
	case pleg.ContainerStarted:
		switch {
		case c != nil && c.RestartCount > 0:
			return fmt.Sprintf("restart %d", c.RestartCount)
		case s != nil && s.HostNetwork:
			return "host network"
		case s != nil:
			return strings.Join(s.IPs, ",")
		}
	case pleg.ContainerDied:
		switch {
		case c != nil && c.State == pod.Exited:
			return exitDetail(c)
		case ev.Status == nil:
			return "vanished"
		}
	case pleg.PodSync:
		if ev.Coalesced > 0 {
			return plural(ev.Coalesced+1, "event") + " in one"
		}
		return "reinspected"
	case pleg.ContainerRemoved, pleg.ContainerChanged:
	}
	return ""
}

// exitDetail is "exit 137 OOMKilled"; a reason that says no more than the code
// is left out.
func exitDetail(c *pod.ContainerStatus) string {
	text := fmt.Sprintf("exit %d", c.ExitCode)
	if c.Reason != "" && c.Reason != "Completed" && c.Reason != "Error" {
		text += " " + c.Reason
	}
	return text
}
