package survey

import (
	"slices"
	"syscall"
	"time"

	"github.com/podctl/podctl/internal/pods/orphan"
	"github.com/podctl/podctl/internal/pods/view"
	"github.com/podctl/podctl/internal/pods/why"
)

// Report is what one scan found.
type Report struct {
	Orphans     Orphans
	Terminating Terminating
}

// Orphans counts the pods and directories that no source desires.
type Orphans struct {
	// ByClass has every class with an orphan, and those known to have none.
	ByClass map[orphan.Class]int
	// Undetermined are the pods of which it is not known whether their kubelet
	// desires them. Unknown is why ByClass is not complete, nil if it is.
	Undetermined int
	Unknown      error
}

// Terminating counts the pods that are being terminated.
type Terminating struct {
	// Pods is how many, Since is when termination began, or was first noticed, of
	// the one that has been terminating for longest; zero without one.
	Pods  int
	Since time.Time
	// Stuck has every layer for which a pod waits, and those known to have none.
	Stuck map[why.Layer]int
	// Unknown is why there may be more, nil if there are not.
	Unknown error
}

// Findings are what a scan looked at.
type Findings struct {
	orphan.Findings
	// OrphansUnknown and DirsUnknown are why not all orphans, and orphaned
	// directories, are among them; nil if they are.
	OrphansUnknown, DirsUnknown error
	// Terminating are the pods that are being terminated.
	Terminating []Terminated
	// TerminatingUnknown is why not all of those are among them, nil if they are.
	TerminatingUnknown error
}

// Terminated is a pod that is being terminated.
type Terminated struct {
	*view.Pod
	// Noticed is when a scan first found it terminating.
	Noticed time.Time
}

// unknown is a report that knows nothing.
func unknown(why error) Report {
	return Report{Orphans{Unknown: why}, Terminating{Unknown: why}}
}

// Count counts findings. Pure.
func Count(f Findings, now time.Time) Report {
	return Report{countOrphans(f), countTerminating(f, now)}
}

func countOrphans(f Findings) Orphans {
	o := Orphans{ByClass: map[orphan.Class]int{}, Undetermined: len(f.Undetermined), Unknown: f.OrphansUnknown}
	for _, class := range orphan.Classes() {
		if class == orphan.Leaked {
			continue // a scan does not look for what has leaked
		}
		missing := f.OrphansUnknown
		if class == orphan.Directory && missing == nil {
			missing = f.DirsUnknown
		}
		if missing == nil {
			o.ByClass[class] = 0
		} else if o.Unknown == nil {
			o.Unknown = missing
		}
	}
	for _, found := range f.Orphans {
		o.ByClass[found.Class]++
	}
	return o
}

func countTerminating(f Findings, now time.Time) Terminating {
	t := Terminating{Stuck: map[why.Layer]int{}, Pods: len(f.Terminating), Unknown: f.TerminatingUnknown}
	for _, p := range f.Terminating {
		since := p.Ending.Requested
		if since.IsZero() {
			since = p.Noticed
		}
		if t.Since.IsZero() || since.Before(t.Since) {
			t.Since = since
		}
		facts := p.factsAt(now)
		verdict := why.Ending(facts, now)
		if verdict.Confidence == why.Unknown && t.Unknown == nil {
			t.Unknown = &undiagnosedError{p.CLIName(), verdict.Why(now)}
		}
		switch {
		case isStuck(verdict.Layer, facts):
			t.Stuck[verdict.Layer]++
		case mayTakeGrace(verdict.Layer) && facts.Ending.GraceLeft == nil && t.Unknown == nil:
			t.Unknown = &undiagnosedError{p.CLIName(), "its grace period is not known"}
		}
	}
	for _, layer := range why.StuckLayers() {
		if _, counted := t.Stuck[layer]; !counted && t.Unknown == nil {
			t.Stuck[layer] = 0
		}
	}
	return t
}

// factsAt are the facts of the pod. Where they do not say when its termination began,
// that was when it was noticed, or before: its grace period ends then at the latest.
func (p Terminated) factsAt(now time.Time) *view.Pod {
	f := *p.Pod
	if f.Ending.GraceLeft != nil || f.Manager != nil || len(f.Ending.Containers) == 0 {
		return &f
	}
	var longest time.Duration
	for _, c := range f.Ending.Containers {
		if c.Grace == nil {
			return &f
		}
		longest = max(longest, *c.Grace)
	}
	left := longest - now.Sub(p.Noticed)
	f.Ending.GraceLeft = &left
	return &f
}

// isStuck reports whether a pod that waits for a layer has waited for too long. What
// may take the grace period is not stuck while that may last; after SIGKILL it is over.
func isStuck(layer why.Layer, f *view.Pod) bool {
	switch {
	case !mayTakeGrace(layer):
		return layer != why.LayerNone
	case f.Ending.GraceLeft != nil:
		return *f.Ending.GraceLeft < 0 || isKilled(f)
	}
	return f.Manager != nil || isKilled(f) // a worker without one has none to give
}

// mayTakeGrace reports whether the layer is a preStop hook, or a process that SIGTERM
// does not end.
func mayTakeGrace(layer why.Layer) bool {
	return layer == why.LayerHook || layer == why.LayerProcess
}

// isKilled reports whether a process has SIGKILL pending.
func isKilled(f *view.Pod) bool {
	return slices.ContainsFunc(f.Ending.Containers, func(c view.ContainerProcess) bool { return c.Process.Pending.Has(syscall.SIGKILL) })
}

// undiagnosedError: a pod is terminating, and the layer for which it waits cannot
// be seen.
type undiagnosedError struct{ name, why string }

func (e *undiagnosedError) Error() string { return e.name + ": " + e.why }
