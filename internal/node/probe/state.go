package probe

import (
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
)

// Type is what a probe is for.
type Type uint8

const (
	// Startup holds the other two until the container has started; its failure
	// restarts the container.
	Startup Type = iota
	// Liveness restarts the container when it fails.
	Liveness
	// Readiness says whether the container can serve.
	Readiness
)

// String returns the kubelet's word, in events and metrics.
func (t Type) String() string {
	return [...]string{Startup: "Startup", Liveness: "Liveness", Readiness: "Readiness"}[t]
}

// probeOf returns the container's probe of this type, nil if it has none.
func (t Type) probeOf(c *v1.Container) *v1.Probe {
	return [...]*v1.Probe{Startup: c.StartupProbe, Liveness: c.LivenessProbe, Readiness: c.ReadinessProbe}[t]
}

// initial returns what counts before the probe has come to a result: alive, not
// ready, not known whether started.
func (t Type) initial() pod.ProbeResult {
	return [...]pod.ProbeResult{Startup: pod.ProbeUnknown, Liveness: pod.ProbeSuccess, Readiness: pod.ProbeFailure}[t]
}

// State is what one probe of one container remembers between its periods. The
// zero value has seen no container. Nothing in it points anywhere.
type State struct {
	// ID is the container that it probes, "" before there is one.
	ID string
	// Result is what counts of that container now.
	Result pod.ProbeResult
	// Last is the last answer and Run how often in a row it was given. They
	// outlive a container: one that replaces it goes on counting, unless the
	// probe was on hold.
	Last pod.ProbeResult
	Run  int32
	// OnHold: the container is to be restarted, or has started: nothing is
	// asked before there is another one.
	OnHold bool
	// Seen is when it was first seen running. Unlike the runtime's word for when
	// it started, that is as long ago as it was when the clock is set back.
	Seen time.Time
}

// View is what is known of the container when its probe is due.
type View struct {
	// PodEnded: the pod's phase is final.
	PodEnded bool
	// ID is its newest container, "" if there is none.
	ID string
	// Running since StartedAt; Exited if it ran and does not any more. Neither is
	// a container that was created only, or of which the runtime knows nothing.
	Running, Exited bool
	StartedAt       time.Time
	// RanBefore: an earlier podctl probed it, too.
	RanBefore bool
	// Started: its startup probe has succeeded, or it has none.
	Started bool
}

// Verdict is what a look at the container leads to.
type Verdict uint8

const (
	// Wait for the next period.
	Wait Verdict = iota
	// Ask the container now.
	Ask
	// Done: there will be nothing to probe any more.
	Done
)

func (v Verdict) String() string { return [...]string{Wait: "Wait", Ask: "Ask", Done: "Done"}[v] }

// Next records the state of the container and returns what is to be
// done: the part of doProbe before the probe in
// pkg/kubelet/prober/worker.go. Pure.
func (s State) Next(t Type, spec *v1.Probe, v View, now time.Time) (State, Verdict) {
	if v.PodEnded {
		return s, Done
	}
	if v.ID == "" {
		return s, Wait
	}
	if s.ID != v.ID {
		s.ID, s.Result, s.OnHold, s.Seen = v.ID, t.initial(), false, time.Time{}
		if v.RanBefore && t == Readiness {
			s.Result = pod.ProbeUnknown // it is as ready as it was
		}
	}
	if v.Running && s.Seen.IsZero() {
		s.Seen = now
	}
	switch {
	case s.OnHold:
		return s, Wait
	case !v.Running:
		if v.Exited {
			s.Result = pod.ProbeFailure
		}
		return s, Wait
	case max(now.Sub(v.StartedAt), now.Sub(s.Seen))/time.Second < time.Duration(spec.InitialDelaySeconds):
		return s, Wait
	case v.Started == (t == Startup):
		// Startup ends with the start, the others begin with it.
		return s, Wait
	}
	return s, Ask
}

// WithResult takes an answer into account, Success or Failure: the part of doProbe
// after the probe. Pure.
func (s State) WithResult(t Type, spec *v1.Probe, answer pod.ProbeResult) State {
	if s.Last != answer {
		s.Last, s.Run = answer, 0
	}
	s.Run++
	threshold := spec.SuccessThreshold
	if answer == pod.ProbeFailure {
		threshold = spec.FailureThreshold
	}
	if s.Run < threshold {
		return s
	}
	s.Result = answer
	if t == Startup || t == Liveness && answer == pod.ProbeFailure {
		s.OnHold, s.Run = true, 0
	}
	return s
}

// viewOf returns what the pod's status says of one of its containers.
func viewOf(s *v1.PodStatus, container string) View {
	v := View{PodEnded: pod.IsTerminal(s.Phase)}
	cs := statusOf(s, container)
	if cs == nil {
		return v
	}
	_, v.ID, _ = strings.Cut(cs.ContainerID, "://")
	v.Started = cs.Started != nil && *cs.Started
	v.Exited = cs.State.Terminated != nil
	if cs.State.Running != nil {
		// Whole seconds, as the API has them: the initial delay counts from there.
		v.Running, v.StartedAt = true, cs.State.Running.StartedAt.Truncate(time.Second)
	}
	return v
}

// statusOf returns the status of a container that was made, nil without one.
func statusOf(s *v1.PodStatus, container string) *v1.ContainerStatus {
	for _, list := range [...][]v1.ContainerStatus{s.ContainerStatuses, s.InitContainerStatuses} {
		for i := range list {
			if list[i].Name == container && list[i].ContainerID != "" {
				return &list[i]
			}
		}
	}
	return nil
}
