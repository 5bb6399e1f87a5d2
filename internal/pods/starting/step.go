package starting

import (
	"slices"
	"time"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
	"github.com/podctl/podctl/internal/pods/describe"
	"github.com/podctl/podctl/internal/pods/inventory"
	"github.com/podctl/podctl/internal/pods/why"
)

// Step is how far a pod is on its way to be ready.
type Step = why.Step

// The steps, in their order.
const (
	StepAdmission    = why.StepAdmission
	StepHostPort     = why.StepHostPort
	StepDevice       = why.StepDevice
	StepQueue        = why.StepQueue
	StepObject       = why.StepObject
	StepVolume       = why.StepVolume
	StepSandbox      = why.StepSandbox
	StepNetwork      = why.StepNetwork
	StepPull         = why.StepPull
	StepCreate       = why.StepCreate
	StepStart        = why.StepStart
	StepHook         = why.StepHook
	StepInit         = why.StepInit
	StepStartupProbe = why.StepStartupProbe
	StepReadiness    = why.StepReadiness
	StepRestart      = why.StepRestart
)

// usesProcesses reports whether shims and their containers take part in the step.
func usesProcesses(s Step) bool {
	switch s {
	case StepSandbox, StepNetwork, StepCreate, StepStart, StepHook, StepInit, StepStartupProbe, StepReadiness, StepRestart:
		return true
	case StepAdmission, StepHostPort, StepDevice, StepQueue, StepObject, StepVolume, StepPull, why.StepStop:
	}
	return false
}

// position is where a pod is: its step, of which container, since when. since is zero if that
// is not known.
type position struct {
	step      Step
	container *describe.Container
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

// stepsOfReasons are the steps of containers that wait, by the reason in the pod's status.
var stepsOfReasons = map[string]Step{
	"CrashLoopBackOff": StepRestart, "CreateContainerConfigError": StepCreate, "CreateContainerError": StepCreate,
	"RunContainerError": StepStart, "PostStartHookError": StepHook, "PreCreateHookError": StepCreate, "PreStartHookError": StepStart,
	"ErrImagePull": StepPull, "ImagePullBackOff": StepPull, "ErrImageNeverPull": StepPull, "InvalidImageName": StepPull,
	"ImageInspectError": StepPull, "RegistryUnavailable": StepPull, "SignatureValidationFailed": StepPull,
}

// stepsOfWaits are the steps of pods that podctl has not begun to start, by the reason.
var stepsOfWaits = map[string]Step{"HostPortInUse": StepHostPort, "DevicesInUse": StepDevice}

// position returns where the pod is.
func (f *Facts) position() position {
	c := f.pending()
	if w := f.Worker; w != nil {
		switch s := &w.Start; {
		case w.Rejected != "" && w.HostPort != nil:
			return position{step: StepHostPort, since: f.desiredSince()}
		case w.Rejected != "" || w.WaitReason != "":
			if step, known := stepsOfWaits[w.WaitReason]; known {
				return position{step: step, since: f.desiredSince()}
			}
			return position{step: StepAdmission, since: f.desiredSince()}
		case s.Step != "":
			return position{stepsOfPodctl[s.Step], f.container(s.Container), s.Since}
		case f.readySandbox() == nil:
			if step, known := stepsOfFailures[w.LastError.Layer]; known {
				return position{step: step, since: f.desiredSince()}
			}
			return position{step: StepVolume, since: f.desiredSince()}
		}
	}
	switch {
	case f.readySandbox() == nil:
		return position{step: f.beforeSandbox(), since: f.desiredSince()}
	case c == nil && f.By != inventory.OwnedByKubelet && len(f.Containers) == 0:
		return position{step: StepCreate, since: f.readySandbox().CreatedAt}
	case c == nil:
		return position{step: StepReadiness, since: f.desiredSince()}
	}
	return f.containerPosition(c)
}

// containerPosition returns where a container is whose sandbox is ready.
func (f *Facts) containerPosition(c *describe.Container) position {
	at := position{container: c, since: f.readySandbox().CreatedAt}
	if end := lastEnd(c); end != nil {
		at.since = end.FinishedAt
	}
	switch {
	case c.State == stateRunning:
		at.since = c.StartedAt
		switch {
		case c.Starting:
			at.step = StepHook
		case c.Kind == describe.KindInit:
			at.step = StepInit
		case hasYetToStart(c):
			at.step = StepStartupProbe
		default:
			at.step = StepReadiness
		}
	case c.State == stateTerminated:
		at.step = StepRestart
	case stepsOfReasons[c.Reason] != "":
		at.step = stepsOfReasons[c.Reason]
	case c.State == stateCreated:
		at.step = StepStart
	case slices.Contains(f.Absent, c.Image):
		at.step = StepPull
	default:
		at.step = StepCreate
	}
	if at.step == StepRestart && c.Kind == describe.KindInit {
		at.step = StepInit
	}
	return at
}

// beforeSandbox returns the step of a pod without a sandbox whose owner does not say it.
func (f *Facts) beforeSandbox() Step {
	for i := range f.Processes {
		switch f.Processes[i].Role {
		case RoleCNI:
			return StepNetwork
		case RoleMount:
			return StepVolume
		case RoleShim, RoleOCI:
			return StepSandbox
		}
	}
	switch {
	case len(f.Paths) > 0:
		return StepVolume
	case f.NotReady != "":
		return StepNetwork
	}
	return StepSandbox
}

// readySandbox returns the newest sandbox if it is ready, else nil.
func (f *Facts) readySandbox() *describe.Sandbox {
	if f.Sandbox == nil || f.Sandbox.State != "ready" {
		return nil
	}
	return f.Sandbox
}

// desiredSince returns the time since which the pod should run, zero if that is not known.
func (f *Facts) desiredSince() time.Time {
	switch {
	case f.Worker != nil && !f.Worker.Start.Began.IsZero() && f.Worker.Start.Ended.IsZero():
		return f.Worker.Start.Began
	case !f.StartTime.IsZero():
		return f.StartTime
	case f.Worker != nil:
		return f.Worker.Since
	}
	return time.Time{}
}

func (f *Facts) container(name string) *describe.Container {
	for i := range f.Containers {
		if f.Containers[i].Name == name {
			return &f.Containers[i]
		}
	}
	return nil
}

// hasYetToStart reports whether the startup probe of a container that runs has not succeeded.
func hasYetToStart(c *describe.Container) bool {
	return c.Started != nil && !*c.Started && slices.ContainsFunc(c.Probes, func(p describe.Probe) bool { return p.Type == "startup" })
}

// lastEnd returns how the last attempt of a container that does not run ended.
func lastEnd(c *describe.Container) *describe.End {
	if c.State == stateWaiting || c.State == stateRunning {
		return c.Last
	}
	return c.End
}
