package survey

import (
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/diagnose"
	"github.com/podctl/podctl/internal/orphan"
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
	Stuck map[diagnose.Layer]int
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
	UID   types.UID
	Facts *diagnose.Facts
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
	t := Terminating{Stuck: map[diagnose.Layer]int{}, Pods: len(f.Terminating), Unknown: f.TerminatingUnknown}
	for _, p := range f.Terminating {
		since := p.Facts.Requested
		if since.IsZero() {
			since = p.Noticed
		}
		if t.Since.IsZero() || since.Before(t.Since) {
			t.Since = since
		}
		verdict := diagnose.Judge(*p.Facts, now)
		if verdict.Confidence == diagnose.Unknown && t.Unknown == nil {
			t.Unknown = &undiagnosedError{p.Facts.Name, verdict.Why}
		}
		if isStuck(verdict.Layer, p.Facts.GraceLeft) {
			t.Stuck[verdict.Layer]++
		}
	}
	for _, layer := range diagnose.StuckLayers() {
		if _, counted := t.Stuck[layer]; !counted && t.Unknown == nil {
			t.Stuck[layer] = 0
		}
	}
	return t
}

// isStuck reports whether a pod that waits for a layer has waited for too long. A
// preStop hook, and a process that SIGTERM does not end, may take the grace period.
func isStuck(layer diagnose.Layer, graceLeft *time.Duration) bool {
	if layer == diagnose.LayerHook || layer == diagnose.LayerProcess {
		return graceLeft == nil || *graceLeft < 0
	}
	return layer != diagnose.LayerNone
}

// undiagnosedError: a pod is terminating, and the layer for which it waits cannot
// be seen.
type undiagnosedError struct{ name, why string }

func (e *undiagnosedError) Error() string { return e.name + ": " + e.why }
