package preempt

import (
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
)

// Result is the kubelet's plan for one pod that needs resources, with the
// reasons. The JSON form is stable.
type Result struct {
	Preemptor PodRef `json:"preemptor"`
	// Need is what must be freed, in the order of the failures.
	Need []Amount `json:"need"`
	// Signal is the label of kubelet_preemptions for each victim: the resource
	// that failed first, "" if none did.
	Signal v1.ResourceName `json:"signal,omitempty"`
	// Victims are the pods to evict, in the order in which they are killed, one
	// after the other.
	Victims []*v1.Pod `json:"-"`
	// Verdicts has every pod once, the most endangered first: the victims as in
	// Victims, then those who could be, then those who cannot.
	Verdicts []Verdict `json:"verdicts"`
	// Missing is what would be short even without all possible victims.
	Missing  []Amount  `json:"missing,omitempty"`
	Warnings []Warning `json:"warnings,omitempty"`
}

// Verdict is what the plan means for one pod.
type Verdict struct {
	Pod      PodRef         `json:"pod"`
	QOS      v1.PodQOSClass `json:"qos"`
	Priority int32          `json:"priority"`
	// Frees is what evicting it frees of cpu, memory, and what is short.
	Frees []Amount `json:"frees"`
	// Kill is its place among the victims, from 1; 0 if it is safe.
	Kill   int    `json:"kill,omitempty"`
	Reason Reason `json:"reason"`
	// Terminating: its termination was requested already.
	Terminating bool `json:"terminating,omitempty"`
	// GraceSeconds is how long it may take to end.
	GraceSeconds int64 `json:"graceSeconds"`
}

// Reason is why a pod is a victim or safe.
type Reason string

const (
	// Victim: the kubelet would evict it.
	Victim Reason = "Victim"
	// EqualToVictim: it frees the same as a victim of its class, and the order of
	// the kubelet's list decides, which changes from one admission to the next.
	EqualToVictim Reason = "EqualToVictim"
	// NotNeeded: its class was looked at, and others freed enough.
	NotNeeded Reason = "NotNeeded"
	// ClassNotReached: nothing was left to free when its class's turn came.
	ClassNotReached Reason = "ClassNotReached"
	// FreesNothing: it could be a victim, but requests nothing that is short.
	FreesNothing Reason = "FreesNothing"
	// NothingShort: the pod that asks lacks no resource.
	NothingShort Reason = "NothingShort"
	// NotEnough: not even all possible victims would free enough, so none is
	// evicted.
	NotEnough Reason = "NotEnough"
	// NotPreempting: the pod that asks is not critical.
	NotPreempting Reason = "NotPreempting"
	// UnknownClass: its status names no QoS class that the kubelet knows.
	UnknownClass Reason = "UnknownClass"
	// HigherPriority: it is critical, and of higher priority than the pod that asks.
	HigherPriority Reason = "HigherPriority"
	// Critical: it is critical, and of no lower priority.
	Critical Reason = "Critical"
)

// byDanger are the reasons, that of the most endangered pods first.
var byDanger = []Reason{
	Victim, EqualToVictim, NotNeeded, ClassNotReached, FreesNothing, NothingShort, NotEnough, NotPreempting, UnknownClass,
	HigherPriority, Critical,
}

// Why is the reason for a verdict of this result in words.
func (r *Result) Why(v Verdict) string {
	switch v.Reason {
	case Victim:
		return fmt.Sprintf("frees the most that a %s pod can of what is short", v.QOS)
	case EqualToVictim:
		return "frees the same as a victim: the order of the kubelet's list decides"
	case NotNeeded:
		return "not needed: the victims free enough"
	case ClassNotReached:
		return fmt.Sprintf("no %s pod is needed", v.QOS)
	case FreesNothing:
		return "frees nothing that is short"
	case NothingShort:
		return "nothing is short"
	case NotEnough:
		return "no set of pods would be enough"
	case NotPreempting:
		return fmt.Sprintf("%s is not critical", r.Preemptor)
	case UnknownClass:
		return fmt.Sprintf("QoS class %q is unknown", v.QOS)
	case HigherPriority:
		return fmt.Sprintf("critical, of higher priority than %s", r.Preemptor)
	case Critical:
		return "critical"
	}
	return string(v.Reason)
}

// Err is the kubelet's error if no set of victims suffices, else nil.
func (r *Result) Err() error {
	if len(r.Missing) == 0 {
		return nil
	}
	return fmt.Errorf("preemption: error finding a set of pods to preempt: no set of running pods found to reclaim resources: %s", kubeletList(r.Missing))
}

// Survivors are the pods without the victims, in their order: what is on the
// node when the next pod asks, but for the preemptor itself.
func (r *Result) Survivors(pods []*v1.Pod) []*v1.Pod {
	gone := make(map[*v1.Pod]bool, len(r.Victims))
	for _, p := range r.Victims {
		gone[p] = true
	}
	return filter(pods, func(p *v1.Pod) bool { return !gone[p] })
}

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
