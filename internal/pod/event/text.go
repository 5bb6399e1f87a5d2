package event

import (
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
)

// Text returns the event as text: the kubelet's message if it has one, else a text made of
// the facts.
func (e *Event) Text() string {
	switch {
	case e.Reason == Killing && e.Probe != nil:
		return e.Message + ": " + e.Probe.Text()
	case e.Reason == FailedPostStartHook && e.Failure != nil:
		return e.Failure.Text // which hook, and how
	case e.Reason == NodePorts && e.HostPort != nil:
		return e.Message + ": " + e.HostPort.Text()
	case e.Resize != nil:
		return e.resizeText()
	case e.Message != "":
		return e.Message
	}
	switch e.Reason {
	case Starting:
		return "starting"
	case Adopted:
		return e.Adoption.text()
	case Running:
		return e.Container + " runs"
	case Exited:
		if e.Exit != nil {
			return e.Container + " " + e.Exit.Text()
		}
	case RestartingAllContainers:
		return "a restart rule asks for it: all containers are restarted"
	case Ready:
		return "all containers are ready"
	case Ended:
		return e.endText()
	case Preempting:
		return waitText(e.Victims)
	case Terminating:
		return e.Stop.text()
	case Stopped:
		return "nothing of the pod runs any more"
	case Removed:
		return "nothing of the pod remains"
	case SandboxReady:
		if len(e.Addresses) > 0 {
			return "sandbox ready, " + strings.Join(e.Addresses, ", ")
		}
		return "sandbox ready, on the host network"
	case RuntimeDown:
		text := "the runtime does not answer"
		if e.Failure != nil {
			text += ": " + e.Failure.Text
		}
		return text
	case RuntimeUp:
		return "the runtime answers again"
	case LogDirectoryFull:
		return "the file system of the log directory is full: what containers write is lost"
	case FailedLogRotation:
		if e.Failure != nil {
			return e.Failure.Text
		}
	case RunDirectoryLost:
		text := "the locks in the run directory were deleted and cannot be restored"
		if e.Failure != nil {
			text += ": " + e.Failure.Text
		}
		return text
	case RunDirectoryRestored:
		return "the locks in the run directory were deleted, and are restored"
	case EventsDropped:
		return fmt.Sprintf("events that could not be recorded: %d", e.Count)
	case ContainerStarted, ContainerDied, ContainerRemoved:
		return e.observedText()
	}
	return ""
}

// resizeText returns "resize started: app cpu 100m of 200m, memory 64Mi of 64Mi".
func (e *Event) resizeText() string {
	text := map[string]string{ResizeStarted: "resize started", ResizeDeferred: "resize deferred", ResizeCompleted: "resize completed", ResizeError: "resize failed"}[e.Reason]
	var containers []string
	for _, c := range slices.Concat(e.Resize.InitContainers, e.Resize.Containers) {
		var amounts []string
		for _, name := range []v1.ResourceName{v1.ResourceCPU, v1.ResourceMemory} {
			request, isRequested := c.Resources.Requests[name]
			limit, isLimited := c.Resources.Limits[name]
			switch {
			case isRequested && isLimited:
				amounts = append(amounts, fmt.Sprintf("%s %s of %s", name, &request, &limit))
			case isRequested:
				amounts = append(amounts, fmt.Sprintf("%s %s", name, &request))
			case isLimited:
				amounts = append(amounts, fmt.Sprintf("%s up to %s", name, &limit))
			}
		}
		if len(amounts) > 0 {
			containers = append(containers, c.Name+" "+strings.Join(amounts, ", "))
		}
	}
	for _, part := range []string{strings.Join(containers, "; "), e.Resize.Error} {
		if part != "" {
			text += ": " + part
		}
	}
	return text
}

// observedText returns the text of an event that an observing agent sees.
func (e *Event) observedText() string {
	what := e.Container
	if what == "" {
		what = "sandbox"
	}
	switch {
	case e.Reason == ContainerRemoved:
		return what + " removed"
	case e.Reason == ContainerStarted && len(e.Addresses) > 0:
		return what + " started, " + strings.Join(e.Addresses, ", ")
	case e.Reason == ContainerStarted:
		return what + " started"
	case e.Exit != nil:
		return what + " " + e.Exit.Text()
	}
	return what + " stopped"
}

// Text returns "exited 137 after 2.0s, OOMKilled: \"its message\"".
func (e *Exit) Text() string {
	text := fmt.Sprintf("exited %d", e.Code)
	if e.Seconds > 0 {
		text += " after " + seconds(e.Seconds)
	}
	switch {
	case e.Reason == "", e.Reason == reasonCompleted, e.Reason == reasonError:
	case e.OOM && e.Code != signalBase+9: // it did not end by that
		text += ", the runtime reports " + e.Reason
	default:
		text += ", " + e.Reason
	}
	if message := strings.TrimSpace(e.Message); message != "" {
		text += fmt.Sprintf(": %q", message)
	}
	return text
}

// seconds formats a duration for a line.
func seconds(s float64) string {
	switch d := time.Duration(s * float64(time.Second)); {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", s)
	default:
		return d.Round(time.Second).String()
	}
}

func (e *Event) endText() string {
	text := "the pod has succeeded"
	if e.Phase == v1.PodFailed {
		text = "the pod has failed"
	}
	if e.End == nil {
		return text
	}
	for _, part := range [...]string{e.End.Reason, e.End.Message} {
		if part != "" {
			text += ": " + part
		}
	}
	return text
}

func (a Adoption) text() string {
	switch a {
	case StaysStopped:
		return "the pod was stopped: it stays stopped until its manifest changes, or podctl start"
	case Restarts:
		return "the pod was being stopped: it stops, and then starts again"
	case StaysEnded:
		return "the pod has ended before: it does not run again"
	case Continues:
	}
	return "the runtime already holds the pod: it continues"
}

func (s *Stop) text() string {
	text := "stopping"
	if s == nil {
		return text
	}
	switch s.Why {
	case ByCommand:
		text += ": podctl stop"
	case ManifestChanged:
		text += ": its manifest changed"
	case ManifestRemoved:
		text += ": its manifest was removed"
	case Shutdown:
	}
	if s.Grace > 0 {
		text += fmt.Sprintf(", up to %ds", s.Grace)
	}
	return text
}

// Text returns "liveness failed 3 times: connection refused".
func (p *Probe) Text() string {
	text := strings.ToLower(p.Type)
	switch {
	case p.Result == ProbeWarned:
		text += " warned"
	case p.Failures > 1:
		text += fmt.Sprintf(" failed %d times", p.Failures)
	default:
		text += " failed"
	}
	if output := strings.TrimSpace(p.Output); output != "" {
		text += ": " + output
	}
	return text
}

func waitText(victims []string) string {
	have := "have"
	if len(victims) == 1 {
		have = "has"
	}
	return fmt.Sprintf("waits until %s %s ended to make room", strings.Join(victims, ", "), have)
}
