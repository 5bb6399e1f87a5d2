package orphan

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/host"
	"github.com/podctl/podctl/internal/inventory"
	"github.com/podctl/podctl/internal/owner"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/volume"
)

// InstancePrefix begins the instance names of those that terminate orphans.
const InstancePrefix = "orphans"

// KillOptions say how orphans are terminated.
type KillOptions struct {
	// Instance is the name under which pod names are locked.
	Instance string
	// Grace is the grace period of each container.
	Grace time.Duration
	// Remove removes containers, sandboxes and directories, too.
	Remove, DryRun bool
	Cgroups        interface {
		Remove(context.Context, types.UID) error
	}
}

// Killer terminates orphans, one after the other. Make one with NewKiller, and
// close it.
type Killer struct {
	KillOptions
	finder  *Finder
	locks   *owner.Locks
	volumes *volume.Manager
}

// NewKiller opens the locks by which no podctl process can begin to manage a pod
// while it is terminated.
func NewKiller(f *Finder, o KillOptions) (*Killer, error) {
	f.self = o.Instance
	locks, err := owner.Open(f.Locks, o.Instance)
	if err != nil {
		return nil, err
	}
	return &Killer{KillOptions: o, finder: f, locks: locks, volumes: volume.NewNamed(f.Root, f.dirs().Name)}, nil
}

// Close releases the locks.
func (k *Killer) Close() error { return k.locks.Close() }

// Result is what became of an orphan.
type Result string

// The results.
const (
	Ended   Result = "ended"   // stopped; containers and sandboxes remain
	Removed Result = "removed" // with containers, sandboxes and directory
	Spared  Result = "spared"  // it is not an orphan any more
	Gone    Result = "gone"    // it did not exist any more
	Kept    Result = "kept"    // a directory, without Remove
	Failed  Result = "failed"  // see the error
	DryRun  Result = "dry-run" // no call was made
)

// Kill terminates one orphan if it still is one. reason says why it was spared
// or kept.
func (k *Killer) Kill(ctx context.Context, o Orphan, step StepFunc) (result Result, reason string, err error) {
	defer func() {
		if err != nil {
			result, reason = Failed, ""
		}
	}()
	if o.Dir != nil && !k.Remove {
		return Kept, "--rm removes directories", nil
	}
	if o.Name != "" {
		claimed, claimErr := k.claim(o)
		if held, isHeld := errors.AsType[*owner.HeldError](claimErr); isHeld {
			return Spared, held.Error(), nil
		}
		if claimErr != nil {
			return "", "", claimErr
		}
		if claimed {
			defer func() { err = errors.Join(err, k.locks.Release(o.FullName())) }()
		}
	}
	still, reason, err := k.lookAgain(ctx, o)
	switch {
	case err != nil:
		return "", "", err
	case still == nil && reason == "":
		return Gone, "", nil
	case still == nil:
		return Spared, reason, nil
	}
	// Finish what has begun: an interrupt takes effect before the next orphan.
	return k.terminate(context.WithoutCancel(ctx), still, step)
}

func (k *Killer) terminate(ctx context.Context, o *Orphan, step StepFunc) (Result, string, error) {
	if o.Runtime != nil {
		if err := k.stopPod(ctx, o.Runtime, step); err != nil {
			return "", "", err
		}
	}
	if k.Remove && (o.Creator != "" || o.Dir != nil) {
		leftovers := host.Leftovers{Volumes: k.volumes, Cgroups: k.Cgroups, Logs: k.finder.Logs, Runtime: filepath.Base(k.finder.Locks), Step: step.call, DryRun: k.DryRun}
		if err := leftovers.Remove(ctx, o.UID, o.Namespace, o.Name); err != nil {
			return "", "", err
		}
	}
	switch {
	case k.DryRun:
		return DryRun, "", nil
	case k.Remove:
		return Removed, "", nil
	}
	return Ended, "", nil
}

// claim keeps every podctl process from beginning to manage a pod of the
// orphan's name. One that has the name already does not prevent the termination
// of a pod that no podctl created: it waits for that.
func (k *Killer) claim(o Orphan) (claimed bool, err error) {
	err = k.locks.Claim(o.FullName())
	var held *owner.HeldError
	if o.Creator == "" && o.Dir == nil && errors.As(err, &held) {
		return false, nil
	}
	return err == nil, err
}

// lookAgain returns the orphan as it is now, or why it is spared; neither if it
// is gone.
func (k *Killer) lookAgain(ctx context.Context, o Orphan) (still *Orphan, spared string, err error) {
	v, err := k.finder.Look(ctx)
	if err != nil {
		return nil, "", err
	}
	if err := v.Refusal(); err != nil {
		return nil, "", err
	}
	now := Classify(v.Facts)
	for _, again := range now.Orphans {
		if again.DistinctUID() == o.DistinctUID() && (again.Dir == nil) == (o.Dir == nil) {
			return &again, "", nil
		}
	}
	is := func(p *inventory.Pod) bool { return p.DistinctUID() == o.DistinctUID() }
	undetermined := slices.IndexFunc(now.Undetermined, is)
	switch {
	case slices.ContainsFunc(now.Terminating, is):
		return nil, "the kubelet is terminating it now", nil
	case undetermined >= 0:
		return nil, v.Unknown(now.Undetermined[undetermined : undetermined+1]).Error(), nil
	}
	return nil, v.sparedBy(o), nil
}

// sparedBy is why an orphan of an earlier look is none now, "" if it is gone.
func (v *View) sparedBy(o Orphan) string {
	w := wanted(v.Answers)
	for _, p := range v.Pods {
		if p.DistinctUID() != o.DistinctUID() {
			continue
		}
		switch source := w.by(p.UID, pod.FullName(p.Name, p.Namespace), p.Creator != ""); {
		case source != "":
			return source + " desires it now"
		case p.Manager != nil:
			return p.Manager.Name + " manages it now"
		case p.Elsewhere != "":
			return p.Elsewhere + " manages it, by another endpoint of the runtime"
		}
		return "a podctl process manages it now"
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
