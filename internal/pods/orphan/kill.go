package orphan

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/owners/owner"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/stop"
	"github.com/podctl/podctl/internal/pods/view"
)

// KillOptions say how orphans are terminated.
type KillOptions struct {
	// Grace is the grace period of each container.
	Grace time.Duration
	// Remove removes containers, sandboxes and directories, too.
	Remove, DryRun bool
}

// Killer terminates orphans. It is safe for concurrent use.
type Killer struct {
	KillOptions
	// Finder looks again before each one; its Self is the instance that locks names.
	Finder *Finder
	stop.Terminator

	// looking joins the looks before orphans that are terminated at the same time.
	looking stop.Batch[Orphan, *View]
	// leaking joins the looks before leaks that are removed at the same time. removing is held while
	// one is removed: parts of one may be in use by another.
	leaking  stop.Batch[Orphan, *View]
	removing sync.Mutex
}

// Result is what became of an orphan.
type Result string

// The results.
const (
	Ended   Result = "ended"   // stopped; containers and sandboxes remain
	Removed Result = "removed" // with containers, sandboxes and directory; of a leak all of it
	Spared  Result = "spared"  // it is not an orphan any more
	Gone    Result = "gone"    // it did not exist any more
	Kept    Result = "kept"    // a directory, without Remove
	Failed  Result = "failed"  // see the error
	DryRun  Result = "dry-run" // no call was made
	// Interrupted: the context ended; calls may have been made.
	Interrupted Result = "interrupted"
)

// StepFunc is called with each call before it is made, and again with the
// error if it failed.
type StepFunc func(call string, failure error)

// errGone, and sparedError, end a termination before a call.
var errGone = errors.New("it does not exist any more")

type sparedError struct{ reason string }

func (e *sparedError) Error() string { return e.reason }

// Kill terminates one orphan if it still is one. reason says why it was spared
// or kept. When ctx ends, the call in flight is canceled and no other one is made.
func (k *Killer) Kill(ctx context.Context, o Orphan, step StepFunc) (result Result, reason string, err error) {
	if o.Dir != nil && !k.Remove {
		return Kept, "--rm removes directories", nil
	}
	if o.Leak != nil {
		return k.killLeak(ctx, o, step)
	}
	err = k.Terminate(ctx, stop.Request{
		UID: o.UID, Namespace: o.Namespace, Name: o.Name, Ours: o.Creator != "" || o.Dir != nil, RemoveFiles: o.Creator != "" || o.Dir != nil,
		Look: func(ctx context.Context) (*pod.Pod, error) { return k.lookAgain(ctx, o) },
		TerminateOptions: cri.TerminateOptions{
			Grace: k.Grace, Escalate: true, Remove: k.Remove, DryRun: k.DryRun,
			Step: func(call string) { step(call, nil) }, Failed: step,
		},
	})
	spared, isSpared := errors.AsType[*sparedError](err)
	held, isHeld := errors.AsType[*owner.HeldError](err)
	switch {
	case err != nil && ctx.Err() != nil:
		return Interrupted, "", nil
	case errors.Is(err, errGone):
		return Gone, "", nil
	case isSpared:
		return Spared, spared.reason, nil
	case isHeld:
		return Spared, held.Error(), nil
	case err != nil:
		return Failed, "", err
	case k.DryRun:
		return DryRun, "", nil
	case k.Remove:
		return Removed, "", nil
	}
	return Ended, "", nil
}

// lookAgain returns the orphan's pod as it is now, nil for a directory. The error is a
// *sparedError if it is no orphan any more, errGone if it is gone.
func (k *Killer) lookAgain(ctx context.Context, o Orphan) (*pod.Pod, error) {
	v, err := k.looking.Ask(ctx, o, func(ctx context.Context, _ []Orphan) (*View, error) { return k.Finder.Look(ctx) })
	if err != nil {
		return nil, err
	}
	if err := v.Refusal(); err != nil {
		return nil, err
	}
	for _, again := range Classify(v.Facts).Orphans {
		if again.DistinctUID() == o.DistinctUID() && (again.Dir == nil) == (o.Dir == nil) {
			return again.Runtime, nil
		}
	}
	if reason := v.sparedBy(o); reason != "" {
		return nil, &sparedError{reason}
	}
	return nil, errGone
}

// sparedBy is why an orphan of an earlier look is none now, "" if it is gone.
func (v *View) sparedBy(o Orphan) string {
	i := slices.IndexFunc(v.Pods, func(p *view.Pod) bool { return p.DistinctUID() == o.DistinctUID() })
	if i >= 0 {
		return reasonOf(v.Pods[i].Verdict)
	}
	for _, d := range v.Dirs {
		if d.UID == o.UID && d.Keep != "" {
			return d.Keep
		}
	}
	if o.Dir != nil {
		return v.DirsUnknown
	}
	return ""
}

// reasonOf is a verdict in words.
func reasonOf(v owners.Verdict) string {
	switch {
	case v.Relation == owners.Unknown:
		return v.Why.Error()
	case v.Relation == owners.Terminates:
		return "the kubelet is terminating it now"
	case v.Kind == owners.ByPodctl && v.Process.Elsewhere:
		return v.Process.Name + " manages it, by another endpoint of the runtime"
	case v.Kind == owners.ByPodctl:
		return v.Process.Name + " manages it now"
	}
	return v.Source + " desires it now"
}
