package why

import (
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

	cause string // of an exit
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

// rule is a row of the table: the layer of a pod for which match returns evidence.
type rule struct {
	shows string // what shows it, for the docs
	layer Layer
	sure  Confidence
	first string // the first thing to try, for the docs
	match func(*facts) finding
}

// finding is what a rule found; without evidence the rule does not match.
type finding struct {
	evidence []Evidence
	next     []string
	// step replaces that of the facts, if the evidence shows it better.
	step Step
	// layer and sure replace those of the rule, if the evidence decides them.
	layer Layer
	sure  Confidence
	// cause is the kind of an exit.
	cause string
}

func found(e Evidence, next ...string) finding {
	return finding{evidence: []Evidence{e}, next: next}
}

// state is what is observed of the pod as a whole.
func state(format string, args ...any) finding {
	return found(Evidence{Kind: KindState, Message: fmt.Sprintf(format, args...)})
}

// try sets the commands of a finding.
func (f finding) try(next ...string) finding {
	f.next = next
	return f
}

// likely marks a finding as inferred.
func (f finding) likely() finding {
	f.sure = Likely
	return f
}

// facts is what rules see: the pod, as of now, and where it is on its way up.
type facts struct {
	*view.Pod
	position
	now  time.Time
	exit *exit // of a process that ended
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
	verdict := Verdict{Step: v.step, Container: v.containerName(), Since: v.since, Layer: LayerNone, Confidence: Observed}
	for _, r := range rules {
		f := r.match(v)
		if len(f.evidence) == 0 {
			continue
		}
		verdict.Layer, verdict.Confidence, verdict.Evidence, verdict.Next, verdict.cause = r.layer, r.sure, f.evidence, f.next, f.cause
		if f.layer != "" {
			verdict.Layer = f.layer
		}
		if f.sure != "" {
			verdict.Confidence = f.sure
		}
		if f.step != "" {
			verdict.Step = f.step
		}
		break
	}
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
