package preempt

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
)

// Warning is something about a pod of a plan that people should know.
type Warning struct {
	Kind WarningKind `json:"kind"`
	Pod  PodRef      `json:"pod"`
	// Text is a sentence for output, without a full stop.
	Text string `json:"text"`
}

// WarningKind is what a warning is about.
type WarningKind string

// The kinds of warnings.
const (
	// LongGrace: a victim has a grace period longer than the API's default.
	LongGrace WarningKind = "LongGrace"
	// StillTerminating: a pod is ending already, and until it has, what it
	// requests counts as used.
	StillTerminating WarningKind = "StillTerminating"
)

func (r *Result) warn(all []*candidate) {
	about := func(kind WarningKind, p *v1.Pod, format string, args ...any) {
		r.Warnings = append(r.Warnings, Warning{kind, refTo(p), refTo(p).String() + " " + fmt.Sprintf(format, args...)})
	}
	var wait time.Duration
	for _, p := range r.Victims {
		wait += time.Duration(grace(p)) * time.Second
	}
	for _, p := range r.Victims {
		if g := grace(p); g > v1.DefaultTerminationGracePeriodSeconds {
			about(LongGrace, p, "has a grace period of %s: victims end one after the other, %s may start as late as %s from now",
				time.Duration(g)*time.Second, r.Preemptor, wait)
		}
	}
	var ending []*candidate
	for _, c := range all {
		if c.pod.DeletionTimestamp != nil && !c.freesNothing() {
			ending = append(ending, c)
		}
	}
	for _, c := range ending {
		then := "that is not enough"
		switch {
		case !anyShort(r.short([]*candidate{c})):
			then = "after that nothing is short"
		case !anyShort(r.short(ending)):
			then = "when all that terminate have, nothing is short"
		}
		var held []Amount
		for j, f := range c.frees {
			held = append(held, Amount{r.Need[j].Resource, f})
		}
		about(StillTerminating, c.pod, "is terminating and holds %s until it has ended; %s", list(positive(held)), then)
	}
}
