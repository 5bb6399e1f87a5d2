package preempt

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
)

// Warning is something about a plan that people should know.
type Warning struct {
	Kind WarningKind `json:"kind"`
	// Pod is the pod that it is about, nil if it is about the plan as a whole.
	Pod *PodRef `json:"pod,omitempty"`
	// Text is a sentence for output, without a full stop.
	Text string `json:"text"`
}

// WarningKind is what a warning is about.
type WarningKind string

// The kinds of warnings.
const (
	// OutrankedSurvivor: a victim has a higher priority than a pod that stays
	// and could have been a victim.
	OutrankedSurvivor WarningKind = "OutrankedSurvivor"
	// LongGrace: a victim has a grace period longer than the API's default.
	LongGrace WarningKind = "LongGrace"
	// StillTerminating: a pod is ending already, and until it has, what it
	// requests counts as used.
	StillTerminating WarningKind = "StillTerminating"
	// NoSetSuffices: not even all possible victims free enough.
	NoSetSuffices WarningKind = "NoSetSuffices"
)

func (p *planner) warnings() []Warning {
	var all []Warning
	if missing := p.result.Missing; len(missing) > 0 {
		all = append(all, Warning{Kind: NoSetSuffices, Text: fmt.Sprintf(
			"no set of pods suffices: with every possible victim gone, %s would still lack %s", p.result.Preemptor, list(missing))})
	}
	all = append(all, p.outranked()...)
	all = append(all, p.longGrace()...)
	return append(all, p.terminating()...)
}

// outranked compares each victim with the survivor of the lowest priority
// that would have freed something.
func (p *planner) outranked() []Warning {
	if len(p.victims) == 0 {
		return nil
	}
	var lowest *candidate
	for _, c := range p.all {
		r := p.reason(c)
		if (r == NotNeeded || r == ClassNotReached) && (lowest == nil || c.priority < lowest.priority) {
			lowest = c
		}
	}
	var all []Warning
	for _, c := range p.victims {
		if lowest != nil && c.priority > lowest.priority {
			all = append(all, about(OutrankedSurvivor, c, fmt.Sprintf(
				"%s (%s, priority %d) is evicted while %s (%s, priority %d) stays: the kubelet goes by QoS class and distance",
				refTo(c.pod), c.qos, c.priority, refTo(lowest.pod), lowest.qos, lowest.priority)))
		}
	}
	return all
}

func (p *planner) longGrace() []Warning {
	var all []Warning
	for _, c := range p.victims {
		if g := grace(c.pod); g > v1.DefaultTerminationGracePeriodSeconds {
			all = append(all, about(LongGrace, c, fmt.Sprintf(
				"%s has a grace period of %s: victims end one after the other, %s may start as late as %s from now",
				refTo(c.pod), time.Duration(g)*time.Second, p.result.Preemptor, p.result.Wait())))
		}
	}
	return all
}

// terminating names the pods that hold what is short and are ending anyway.
func (p *planner) terminating() []Warning {
	var ending []*candidate
	for _, c := range p.all {
		if c.pod.DeletionTimestamp != nil && !c.freesNothing() {
			ending = append(ending, c)
		}
	}
	var all []Warning
	for _, c := range ending {
		then := "that is not enough"
		switch {
		case !anyShort(p.short([]*candidate{c})):
			then = "after that nothing is short"
		case !anyShort(p.short(ending)):
			then = "when all that terminate have, nothing is short"
		}
		all = append(all, about(StillTerminating, c, fmt.Sprintf(
			"%s is terminating and holds %s until it has ended; %s", refTo(c.pod), list(p.holds(c)), then)))
	}
	return all
}

// holds is what the candidate has of what is short.
func (p *planner) holds(c *candidate) []Amount {
	var held []Amount
	for j, f := range c.frees {
		if f > 0 {
			held = append(held, Amount{p.result.Need[j].Resource, f})
		}
	}
	return held
}

func about(kind WarningKind, c *candidate, text string) Warning {
	ref := refTo(c.pod)
	return Warning{Kind: kind, Pod: &ref, Text: text}
}
