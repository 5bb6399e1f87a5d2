package inventory

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/control"
	"github.com/podctl/podctl/internal/owner"
)

// Elsewhere is what the live podctl processes of this host own that use a runtime
// by another endpoint: it may lead to the same runtime, by a proxy for instance.
type Elsewhere struct {
	// Owners maps their pods to the processes, which use the runtime by the endpoint
	// that Holder.Runtime says, where it is known.
	Owners map[types.UID]owner.Holder
	// Silent are the instances that did not answer: they may own any pod that they
	// created, or whose name they hold.
	Silent []owner.Holder
	// silentIn are the same instances by their directory.
	silentIn map[string][]owner.Holder
	// lost are the locks that living processes have yet to restore.
	lost owner.LostList
}

// AskAll asks the live podctl processes of all directories below the run
// directory.
func AskAll(ctx context.Context, run string, dial control.Dialer) (Elsewhere, error) {
	return askBelow(ctx, run, "", dial)
}

// AskElsewhere asks the live podctl processes of all directories beside one, and those
// of its runtime that have another run directory.
func AskElsewhere(ctx context.Context, dir string, dial control.Dialer) (Elsewhere, error) {
	return askBelow(ctx, filepath.Dir(dir), filepath.Clean(dir), dial)
}

func askBelow(ctx context.Context, run, except string, dial control.Dialer) (Elsewhere, error) {
	return askDirs(ctx, run, except, dial, owner.LostLocks(run))
}

// askDirs asks the processes of all directories at the same time.
func askDirs(ctx context.Context, run, except string, dial control.Dialer, lost owner.LostList) (Elsewhere, error) {
	found := Elsewhere{Owners: map[types.UID]owner.Holder{}, silentIn: map[string][]owner.Holder{}, lost: lost}
	dirs, err := filepath.Glob(filepath.Join(run, "*"))
	if err != nil {
		return found, err
	}
	for _, dir := range lost.Dirs(run) {
		if !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	dirs = slices.DeleteFunc(dirs, func(dir string) bool {
		info, err := os.Stat(dir)
		return dir == except || err == nil && !info.IsDir() // a lock on the run directory
	})
	if except != "" {
		dirs = append(dirs, owner.Outside(run, filepath.Base(except))...)
	}
	answers, errs := make([]dirAnswer, len(dirs)), make([]error, len(dirs))
	var asking sync.WaitGroup
	for i, dir := range dirs {
		asking.Go(func() { answers[i], errs[i] = askDir(ctx, dir, lost, dial) })
	}
	asking.Wait()
	for i, dir := range dirs {
		found.add(dir, answers[i])
	}
	return found, worst(errs)
}

// worst is the first error that is more than a directory which podctl must not read.
func worst(errs []error) error {
	i := slices.IndexFunc(errs, func(err error) bool { return err != nil && !errors.Is(err, fs.ErrPermission) })
	if i < 0 {
		return errors.Join(errs...)
	}
	return errs[i]
}

// dirAnswer is what the live processes of one directory answered.
type dirAnswer struct {
	living []owner.Holder
	live   []Live
}

func askDir(ctx context.Context, dir string, lost owner.LostList, dial control.Dialer) (dirAnswer, error) {
	living, clients, err := control.FindLiving(dir, dial)
	if err != nil {
		return dirAnswer{}, err
	}
	return dirAnswer{living: append(living, lost.Living(dir)...), live: Ask(ctx, clients)}, nil
}

// add adds what the processes of one directory own.
func (e *Elsewhere) add(dir string, a dirAnswer) {
	living := a.living
	for _, l := range a.live {
		i := slices.IndexFunc(living, func(h owner.Holder) bool { return h.Is(l.Client.Instance(), l.Client.ID()) })
		if l.Err != nil || i < 0 {
			continue
		}
		for _, w := range l.Workers {
			e.Owners[w.UID] = living[i]
		}
		living = slices.Delete(living, i, i+1)
	}
	for _, h := range living {
		// stop and orphans own no pods.
		if !strings.HasPrefix(h.Name, "stop-") && !strings.HasPrefix(h.Name, "orphans-") {
			e.Silent = append(e.Silent, h)
			e.silentIn[dir] = append(e.silentIn[dir], h)
		}
	}
}

// Owner returns the process that owns the pod, or may own it; ok is false if none
// does. creator and id are those of its newest sandbox.
func (e Elsewhere) Owner(uid types.UID, fullName, creator, id string) (h owner.Holder, ok bool) {
	if h, ok := e.Owners[uid]; ok {
		return h, true
	}
	for _, h := range e.Silent {
		if creator != "" && h.Is(creator, id) {
			return h, true
		}
	}
	return e.silentHolder(fullName)
}

// silentHolder is the silent instance that holds the name of a pod: it may have
// adopted the pod. Where that cannot be read it is assumed.
func (e Elsewhere) silentHolder(fullName string) (h owner.Holder, ok bool) {
	for dir, silent := range e.silentIn {
		holder, held, err := owner.HolderOf(dir, fullName)
		if !held {
			var lost bool
			if holder, lost = e.lost.Holder(dir, fullName); lost {
				held = true
			}
		}
		i := slices.IndexFunc(silent, func(h owner.Holder) bool { return h.Is(holder.Name, holder.ID) })
		switch {
		case held && i >= 0:
			return silent[i], true
		case err != nil, held && holder.Name == "":
			return silent[0], true
		}
	}
	return owner.Holder{}, false
}

// Assign makes the owner of each pod that no podctl process of this endpoint
// manages.
func (e Elsewhere) Assign(pods []*Pod) {
	for _, p := range pods {
		if p.mayBeElsewhere() {
			if h, ok := e.Owner(p.UID, p.FullName(), p.Creator, p.CreatorID); ok {
				p.Elsewhere, p.Alive = h.Name, true
			}
		}
	}
}
