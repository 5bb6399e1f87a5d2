package why

import (
	"slices"
	"time"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
	"github.com/podctl/podctl/internal/pods/view"
)

// usesProcesses reports whether shims and their containers take part in the step.
func usesProcesses(s Step) bool {
	switch s {
	case StepSandbox, StepNetwork, StepCreate, StepStart, StepHook, StepInit, StepStartupProbe, StepReadiness, StepRestart:
		return true
	case StepAdmission, StepHostPort, StepDevice, StepQueue, StepObject, StepVolume, StepPull, StepStop:
	}
	return false
}

// position is where a pod is: its step, of which container, since when. since is zero if that
// is not known.
type position struct {
	step      Step
	container *view.Container
	since     time.Time
}

// stepsOfPodctl are the steps as a podctl process measures them.
var stepsOfPodctl = map[pod.StartStep]Step{
	pod.StepVolumes: StepVolume, pod.StepTurn: StepQueue, pod.StepSandbox: StepSandbox, pod.StepPull: StepPull,
	pod.StepCreate: StepCreate, pod.StepStart: StepStart, pod.StepHook: StepHook,
}

// stepsOfFailures are the steps of what failed in a layer of podctl.
var stepsOfFailures = map[event.Layer]Step{
	event.LayerVolume: StepVolume, event.LayerSandbox: StepSandbox, event.LayerNetwork: StepNetwork, event.LayerCgroup: StepSandbox,
	event.LayerHost: StepVolume, event.LayerConfig: StepCreate, event.LayerImage: StepPull, event.LayerHook: StepHook,
}

// stepsOfWaits are the steps of pods that podctl has not begun to start, by the reason.
var stepsOfWaits = map[string]Step{"HostPortInUse": StepHostPort, "DevicesInUse": StepDevice}

// positionOf returns where the pod is.
func positionOf(f *view.Pod) position {
	c := f.Pending()
	if w := &f.Worker; f.Manager != nil {
		switch s := &w.Start; {
		case w.Rejected != "" && w.HostPort != nil:
			return position{step: StepHostPort, since: desiredSince(f)}
		case w.Rejected != "" || w.WaitReason != "":
			if step, known := stepsOfWaits[w.WaitReason]; known {
				return position{step: step, since: desiredSince(f)}
			}
			return position{step: StepAdmission, since: desiredSince(f)}
		case s.Step != "":
			return position{stepsOfPodctl[s.Step], f.Container(s.Container), s.Since}
		case isUnanswered(f):
			return lastKnown(f, c)
		case f.ReadySandbox() == nil:
			if step, known := stepsOfFailures[w.LastError.Layer]; known {
				return position{step: step, since: desiredSince(f)}
			}
			return position{step: StepVolume, since: desiredSince(f)}
		}
	}
	switch {
	case f.ReadySandbox() == nil:
		return position{step: beforeSandbox(f), since: desiredSince(f)}
	case c == nil && f.Ownership() != view.OwnedByKubelet && len(f.Containers) == 0:
		return position{step: StepCreate, since: f.ReadySandbox().CreatedAt}
	case c == nil:
		return position{step: StepReadiness, since: desiredSince(f)}
	}
	return containerPosition(f, c)
}

// isUnanswered reports whether the runtime says nothing of the pod.
func isUnanswered(f *view.Pod) bool {
	return f.Sandbox == nil && slices.ContainsFunc(f.Unread, func(u view.Unread) bool { return u.Layer == view.LayerRuntime })
}

// lastKnown returns where its owner last saw a pod of which the runtime does not answer.
func lastKnown(f *view.Pod, c *view.Container) position {
	if c == nil || c.State == view.Waiting && stepsOfReasons[c.Reason] == "" {
		return position{}
	}
	return containerPosition(f, c)
}

// containerPosition returns where a container is whose sandbox was ready.
func containerPosition(f *view.Pod, c *view.Container) position {
	at := position{container: c}
	if s := f.ReadySandbox(); s != nil {
		at.since = s.CreatedAt
	}
	if end := c.LastEnd(); end != nil {
		at.since = end.FinishedAt
	}
	switch {
	case c.State == view.Running:
		at.since = c.StartedAt
		switch {
		case c.Starting:
			at.step = StepHook
		case c.Kind == view.KindInit:
			at.step = StepInit
		case hasYetToStart(c):
			at.step = StepStartupProbe
		default:
			at.step = StepReadiness
		}
	case c.State == view.Terminated:
		at.step = StepRestart
	case stepsOfReasons[c.Reason] != "":
		at.step = stepsOfReasons[c.Reason]
	case c.State == view.Created:
		at.step = StepStart
	case isAbsent(f, c.Image):
		at.step = StepPull
	default:
		at.step = StepCreate
	}
	if at.step == StepRestart && c.Kind == view.KindInit {
		at.step = StepInit
	}
	return at
}

// beforeSandbox returns the step of a pod without a sandbox whose owner does not say it.
func beforeSandbox(f *view.Pod) Step {
	for i := range f.Processes {
		switch f.Processes[i].Role {
		case view.RoleCNI:
			return StepNetwork
		case view.RoleMount:
			return StepVolume
		case view.RoleShim, view.RoleOCI:
			return StepSandbox
		}
	}
	switch {
	case len(f.Paths) > 0:
		return StepVolume
	case f.NetworkNotReady != "":
		return StepNetwork
	}
	return StepSandbox
}

// desiredSince returns the time since which the pod should run, zero if that is not known.
func desiredSince(f *view.Pod) time.Time {
	switch {
	case f.Manager != nil && !f.Worker.Start.Began.IsZero() && f.Worker.Start.Ended.IsZero():
		return f.Worker.Start.Began
	case !f.StartTime.IsZero():
		return f.StartTime
	case f.Manager != nil:
		return f.Worker.Since
	}
	return time.Time{}
}

// hasYetToStart reports whether the startup probe of a container that runs has not succeeded.
func hasYetToStart(c *view.Container) bool {
	return c.Started != nil && !*c.Started && slices.ContainsFunc(c.Probes, func(p view.Probe) bool { return p.Type == view.StartupProbe })
}

// isAbsent reports whether the runtime has said that it does not have an image.
func isAbsent(f *view.Pod, image string) bool {
	has, known := f.HasImage[image]
	return known && !has
}

// image returns the image that a pod in the step pull waits for, "" if that is not known.
func (p position) image() string {
	if p.container == nil {
		return ""
	}
	return p.container.Image
}
