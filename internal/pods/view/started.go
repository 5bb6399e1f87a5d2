package view

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/podctl/podctl/internal/pod"
)

// Started is how long the start of a pod took, and its steps.
type Started struct {
	Seconds float64       `json:"seconds"`          // until its last container was started
	AtMost  bool          `json:"atMost,omitempty"` // the times are bounds, by timestamps of the runtime and the kubelet
	Of      string        `json:"of,omitempty"`     // sandbox: counted from when its sandbox was made, because it is not known when the start began
	Steps   []StartedStep `json:"steps"`            // in their order; one that is not known is missing
}

// StartedStep is a step of a start.
type StartedStep struct {
	Name    string  `json:"name"`    // volumes, turn, sandbox, network, pull, create, start, hook, init; several joined by "and" if only all together are known
	Seconds float64 `json:"seconds"` // how long it took
}

// run is a run of a container, by the runtime's times.
type run struct {
	init                       bool
	created, started, finished time.Time
}

// startedBy returns how long a start took that a podctl process has measured, nil if it has
// not ended; inits is how long init containers ran.
func startedBy(s pod.Start, inits time.Duration) *Started {
	if s.Began.IsZero() || s.Ended.IsZero() {
		return nil
	}
	found := &Started{Seconds: s.Ended.Sub(s.Began).Seconds()}
	t := s.Took
	for _, step := range []StartedStep{
		{"volumes", t.Volumes}, {"turn", t.Turn}, {"sandbox and network", t.Sandbox}, {"pull", t.Pull}, {"create", t.Create}, {"start", t.Start}, {"hook", t.Hook}, {"init", inits.Seconds()},
	} {
		optional := step.Name == "turn" || step.Name == "hook" || step.Name == "init"
		if !optional || step.Seconds >= shownSeconds {
			found.Steps = append(found.Steps, step)
		}
	}
	return found
}

// shownSeconds is what is shown of a step that most pods do not have.
const shownSeconds = 0.05

// startedAt returns how long a start took at most, by timestamps: of when it began, zero if
// that is not known, when its sandbox was made, and of the first runs of its containers in
// their order. It is nil if they do not show it.
func startedAt(began, sandbox time.Time, runs []run) *Started {
	if sandbox.IsZero() || len(runs) == 0 {
		return nil
	}
	found := &Started{AtMost: true}
	if gap := sandbox.Sub(began); !began.IsZero() && gap >= 0 {
		found.Steps = append(found.Steps, StartedStep{"volumes and network", gap.Seconds()})
	} else {
		began, found.Of = sandbox, "sandbox"
	}
	var pull, start, inits time.Duration
	last := sandbox
	for _, r := range runs {
		if r.created.Before(last) || r.started.Before(r.created) || r.init && r.finished.Before(r.started) {
			return nil // they were started in another order, or a clock was set
		}
		pull, start, last = pull+r.created.Sub(last), start+r.started.Sub(r.created), r.started
		if r.init {
			inits, last = inits+r.finished.Sub(r.started), r.finished
		}
	}
	found.Seconds = last.Sub(began).Seconds()
	found.Steps = append(found.Steps, StartedStep{"pull and create", pull.Seconds()}, StartedStep{"start", start.Seconds()})
	if inits > 0 {
		found.Steps = append(found.Steps, StartedStep{"init", inits.Seconds()})
	}
	return found
}

// addStarted adds how long the start of the pod took, if all of its containers run in its
// newest sandbox, as their first runs.
func (s *Sources) addStarted() {
	f := s.Pod
	if s.RuntimeStatus == nil || len(s.RuntimeStatus.Sandboxes) == 0 || s.RuntimeStatus.Sandboxes[0].State != pod.Running {
		return
	}
	var runs []run
	for i := range f.Containers {
		ct := &f.Containers[i]
		if ct.Kind == KindEphemeral {
			continue
		}
		r := s.RuntimeStatus.ContainerByID(ct.ID)
		ended := ct.Kind == KindInit && ct.End != nil
		if r == nil || ct.Attempt != 0 || ct.Starting || !ended && ct.State != Running {
			return
		}
		runs = append(runs, run{init: ct.Kind == KindInit, created: r.CreatedAt, started: r.StartedAt, finished: r.FinishedAt})
	}
	// The runtime's clock decides the order: a kubelet starts sidecars among init containers.
	slices.SortStableFunc(runs, func(a, b run) int { return cmp.Compare(a.created.UnixNano(), b.created.UnixNano()) })
	if s.Manager != nil {
		var inits time.Duration
		for _, r := range runs {
			if r.init {
				inits += r.finished.Sub(r.started)
			}
		}
		if f.Started = startedBy(s.Worker.Start, inits); f.Started != nil {
			return
		}
	}
	var began time.Time
	if s.Object != nil && s.Object.Status.StartTime != nil {
		began = s.Object.Status.StartTime.Time
	}
	f.Started = startedAt(began, s.RuntimeStatus.Sandboxes[0].CreatedAt, runs)
}

// Text is "in 1.9 s: volumes 0.1, sandbox and network 1.5, pull 0, create 0.2, start 0.1".
func (s *Started) Text() string {
	at := ""
	if s.AtMost {
		at = "≤ "
	}
	var steps []string
	for _, step := range s.Steps {
		mark := at
		if step.Name == "init" {
			mark = ""
		}
		steps = append(steps, step.Name+" "+mark+seconds(step.Seconds))
	}
	text := fmt.Sprintf("in %s%s s", at, seconds(s.Seconds))
	if s.Of != "" {
		text += " after its sandbox"
	}
	return text + ": " + strings.Join(steps, ", ")
}

// seconds has a decimal below ten.
func seconds(s float64) string {
	switch {
	case s < shownSeconds:
		return "0"
	case s < 10:
		return strconv.FormatFloat(s, 'f', 1, 64)
	}
	return strconv.FormatFloat(s, 'f', 0, 64)
}
