package pod

import "time"

// StartStep is a step of the start of a pod by podctl.
type StartStep string

// The steps, in their order.
const (
	StepVolumes StartStep = "volumes" // its volumes are mounted
	StepTurn    StartStep = "turn"    // it waits until other pods have started
	StepSandbox StartStep = "sandbox" // the runtime makes its sandbox, with the network
	StepPull    StartStep = "pull"    // an image is pulled
	StepCreate  StartStep = "create"  // the runtime creates a container
	StepStart   StartStep = "start"   // the runtime starts it
	StepHook    StartStep = "hook"    // its postStart hook runs
)

// Start is how far the start of a pod is, as the podctl process measures it that starts the
// pod. The zero value: that process has started nothing of it.
type Start struct {
	Step      StartStep `json:"step,omitempty"`      // in progress: volumes, turn, sandbox, pull, create, start, hook
	Container string    `json:"container,omitempty"` // of which the step is
	Image     string    `json:"image,omitempty"`     // that is pulled
	Since     time.Time `json:"since,omitzero"`      // when the step began

	Began time.Time `json:"began,omitzero"` // when the start in the newest sandbox began
	Ended time.Time `json:"ended,omitzero"` // when all containers had been started
	Took  StartTook `json:"took"`           // how long each step took until then
}

// StartTook is how long each step of a start took, of all containers together.
type StartTook struct {
	Volumes float64 `json:"volumesSeconds"` // mounting its volumes
	Turn    float64 `json:"turnSeconds"`    // waiting until other pods had started
	Sandbox float64 `json:"sandboxSeconds"` // making its sandbox, with the network
	Pull    float64 `json:"pullSeconds"`    // pulling images
	Create  float64 `json:"createSeconds"`  // creating containers
	Start   float64 `json:"startSeconds"`   // starting them
	Hook    float64 `json:"hookSeconds"`    // postStart hooks
}

// of returns the time of a step.
func (t *StartTook) of(step StartStep) *float64 {
	switch step {
	case StepVolumes:
		return &t.Volumes
	case StepTurn:
		return &t.Turn
	case StepSandbox:
		return &t.Sandbox
	case StepPull:
		return &t.Pull
	case StepCreate:
		return &t.Create
	case StepStart:
		return &t.Start
	case StepHook:
	}
	return &t.Hook
}

// Begin records that the start of the pod begins, unless it is in progress.
func (s *Start) Begin(now time.Time) {
	if s.Began.IsZero() || !s.Ended.IsZero() {
		*s = Start{Began: now}
	}
}

// Enter records that a step begins.
func (s *Start) Enter(step StartStep, container, image string, now time.Time) {
	s.Step, s.Container, s.Image, s.Since = step, container, image, now
}

// Leave records that the step in progress has ended.
func (s *Start) Leave(now time.Time) {
	if !s.Began.IsZero() && s.Ended.IsZero() {
		*s.Took.of(s.Step) += now.Sub(s.Since).Seconds()
	}
	s.Step, s.Container, s.Image, s.Since = "", "", "", time.Time{}
}

// End records that all containers have been started.
func (s *Start) End(now time.Time) {
	if !s.Began.IsZero() && s.Ended.IsZero() {
		s.Ended = now
	}
}
