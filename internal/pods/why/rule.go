package why

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/podctl/podctl/internal/pods/view"
)

// Verdict is where a pod is on its way up or down, the layer for which it waits, and the next
// commands to try.
type Verdict struct {
	Step       Step      // of a pod that starts
	Container  string    // of which the step is, "" if it is the pod's
	Since      time.Time // when the step or the termination began, zero if that is not known
	Layer      Layer
	Confidence Confidence
	Evidence   []Evidence
	Next       []string
}

// Why is the evidence in words, as of now.
func (v *Verdict) Why(now time.Time) string {
	var texts []string
	for _, e := range v.Evidence {
		texts = append(texts, e.Words(now))
	}
	return strings.Join(texts, "; ")
}

const (
	// slowProcess is how long a process may work for a pod before the pod waits for it, and
	// slowStep the same of a call of the runtime.
	slowProcess = 5 * time.Second
	slowStep    = 30 * time.Second
	// slowPull is how long a pull may receive nothing.
	slowPull = 10 * time.Second
	// slowCall is how long a CRI call may take beyond the grace period before it is what a
	// terminating pod waits for; slowKill is the same for delivering a signal.
	slowCall = 10 * time.Second
	slowKill = 2 * time.Second
	// slowLock is how long a lock may be waited for before that is what a pod waits for.
	slowLock = time.Second
)

// rule is a row of a table: the layer of a pod for which match returns evidence. What match returns besides
// replaces the row's layer and confidence, and the step of the facts.
type rule struct {
	shows string // what shows it, for the docs
	layer Layer
	sure  Confidence
	first string // the first thing to try, for the docs
	match func(*facts) Verdict
}

func found(e Evidence, next ...string) Verdict {
	return Verdict{Evidence: []Evidence{e}, Next: next}
}

// state is what is observed of the pod as a whole.
func state(format string, args ...any) Verdict {
	return found(Evidence{Kind: KindState, Message: fmt.Sprintf(format, args...)})
}

// try sets the commands of a verdict.
func (f Verdict) try(next ...string) Verdict {
	f.Next = next
	return f
}

// likely marks a verdict as inferred.
func (f Verdict) likely() Verdict {
	f.Confidence = Likely
	return f
}

// facts is what rules see: the pod, as of now, and where it is on its way up.
type facts struct {
	*view.Pod
	position
	now time.Time
}

// target names the container of the position on a command line, or the pod.
func (v *facts) target() string {
	if v.position.container == nil {
		return v.CLIName()
	}
	return v.CLIName() + "/" + v.position.container.Name
}

func (v *facts) containerName() string {
	if v.position.container == nil {
		return ""
	}
	return v.position.container.Name
}

// Starting returns the verdict about a pod that should run and does not.
func Starting(p *view.Pod, now time.Time) Verdict {
	v := &facts{Pod: p, position: positionOf(p), now: now}
	verdict := v.decide(startingRules)
	if c := v.position.container; c != nil {
		for _, text := range c.Denied { // which may be why, or not
			verdict.Evidence = append(verdict.Evidence, inContainer(c, Evidence{Kind: KindDenied, Message: text}))
		}
	}
	if len(verdict.Next) == 0 {
		verdict.Next = slices.DeleteFunc(slices.Clone(p.Next), func(next string) bool { return next == startingHint(p) })
	}
	return verdict
}

// Ending returns the verdict about a pod that is being terminated: the innermost layer for which
// there is evidence, because the layers around it wait for it.
func Ending(p *view.Pod, now time.Time) Verdict {
	return (&facts{Pod: p, position: position{since: p.Ending.Requested}, now: now}).decide(endingRules)
}

// decide returns the verdict of the first rule that matches.
func (v *facts) decide(rules []rule) Verdict {
	verdict := Verdict{Layer: LayerNone, Confidence: Observed}
	for _, r := range rules {
		if f := r.match(v); len(f.Evidence) > 0 {
			verdict = f
			verdict.Layer, verdict.Confidence = cmp.Or(f.Layer, r.layer), cmp.Or(f.Confidence, r.sure)
			break
		}
	}
	verdict.Step, verdict.Container, verdict.Since = cmp.Or(verdict.Step, v.step), v.containerName(), v.since
	return verdict
}

// Complete sets what follows from the facts of a pod: why its containers ended, what its end waits
// for, and what to try next.
func Complete(p *view.Pod, now time.Time) {
	addCauses(p, now)
	var ending []string
	if p.IsEnding() {
		v := Ending(p, now)
		p.Stopping = &view.Stopping{Since: v.Since, Layer: string(v.Layer), Confidence: string(v.Confidence), Why: v.Why(now)}
		if left := p.Ending.GraceLeft; left != nil {
			p.Stopping.GraceLeft = new(left.Seconds())
		}
		ending = v.Next
	}
	p.Next = nextOf(p, ending)
}
