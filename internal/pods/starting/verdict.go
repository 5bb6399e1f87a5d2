package starting

import (
	"strings"
	"time"

	"github.com/podctl/podctl/internal/pods/describe"
	"github.com/podctl/podctl/internal/pods/diagnose"
)

// Verdict is where a pod is, the layer for which it waits, and the next commands to try.
type Verdict struct {
	Step      Step
	Container string    // of which the step is, "" if it is the pod's
	Since     time.Time // when the step began, zero if that is not known
	Layer     diagnose.Layer
	Sure      diagnose.Confidence
	Evidence  []Evidence
	Next      []string
}

const (
	// slowProcess is how long a process may work for a pod before the pod waits for it, and
	// slowStep the same of a call of the runtime.
	slowProcess = 5 * time.Second
	slowStep    = 30 * time.Second
	// slowPull is how long a pull may receive nothing.
	slowPull = 10 * time.Second
)

// rule is a row of the table: the layer of a pod for which match returns evidence.
type rule struct {
	shows string // what shows it, for the docs
	layer diagnose.Layer
	sure  diagnose.Confidence
	first string // the first thing to try, for the docs
	match func(*view) finding
}

// finding is what a rule found; without evidence the rule does not match.
type finding struct {
	evidence []Evidence
	next     []string
	// step replaces that of the view, if the evidence shows it better.
	step Step
	// layer and sure replace those of the rule, if the evidence decides them.
	layer diagnose.Layer
	sure  diagnose.Confidence
}

func found(e Evidence, next ...string) finding {
	return finding{evidence: []Evidence{e}, next: next}
}

// view is what rules see: the facts, as of now, and where the pod is.
type view struct {
	*Facts
	position
	now time.Time
}

// target names the container of the position on a command line, or the pod.
func (v *view) target() string {
	if v.position.container == nil {
		return v.Name
	}
	return v.Name + "/" + v.position.container.Name
}

func (v *view) containerName() string {
	if v.position.container == nil {
		return ""
	}
	return v.position.container.Name
}

// Judge returns the verdict of the first rule that matches.
func Judge(f *Facts, now time.Time) Verdict {
	v := &view{Facts: f, position: f.position(), now: now}
	verdict := Verdict{Step: v.step, Container: v.containerName(), Since: v.since}
	for _, r := range rules {
		found := r.match(v)
		if len(found.evidence) == 0 {
			continue
		}
		verdict.Layer, verdict.Sure, verdict.Evidence = r.layer, r.sure, found.evidence
		if found.layer != "" {
			verdict.Layer = found.layer
		}
		if found.sure != "" {
			verdict.Sure = found.sure
		}
		if found.step != "" {
			verdict.Step = found.step
		}
		verdict.Next = v.nextAfter(found.next)
		return verdict
	}
	panic("no rule matches") // the last one always does
}

// nextAfter returns commands, and after them those of describe, which do not repeat.
func (v *view) nextAfter(first []string) []string {
	next, known := []string{}, map[string]bool{}
	for _, list := range [][]string{first, v.Next} {
		for _, command := range list {
			if !known[command] && !strings.HasPrefix(command, "podctl starting ") {
				next, known[command] = append(next, command), true
			}
		}
		if len(first) > 0 {
			break
		}
	}
	return next
}

// inContainer returns the evidence with the name of the container; c may be nil.
func inContainer(c *describe.Container, e Evidence) Evidence {
	if c != nil {
		e.Container = c.Name
	}
	return e
}
