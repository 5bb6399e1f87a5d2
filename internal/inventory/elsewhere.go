package inventory

import (
	"context"
	"errors"
	"fmt"
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
	// owners maps their pods to the processes, which use the runtime by the endpoint
	// that Holder.Runtime says, where it is known; waiting those that they name and do
	// not run.
	owners, waiting map[types.UID]owner.Holder
	// unsettled are the instances that did not answer, or have yet to find their pods:
	// they may own any pod that an instance of their name created, or whose name they
	// hold. unsettledIn are the same by their directory.
	unsettled   []owner.Holder
	unsettledIn map[string][]owner.Holder
	// lost are the locks that living processes have yet to restore.
	lost owner.LostList
}

// AskAll asks the live podctl processes of all directories below the run directory,
// whatever runtime they use, and those that have another run directory, but those that
// are known to use another runtime than this one. The process of the id self is left out.
func AskAll(ctx context.Context, run, self string, runtime owner.Runtime, dial control.Dialer) (Elsewhere, error) {
	return askNow(ctx, question{run: run, self: self, runtime: known(runtime), dial: dial})
}

// AskElsewhere asks the live podctl processes of all directories beside one, and those
// that have another run directory, but those that are known to use another runtime than
// this one.
func AskElsewhere(ctx context.Context, dir string, runtime owner.Runtime, dial control.Dialer) (Elsewhere, error) {
	return askNow(ctx, question{run: filepath.Dir(dir), except: filepath.Clean(dir), runtime: known(runtime), dial: dial})
}

// askNow asks the processes that hold locks now.
func askNow(ctx context.Context, q question) (Elsewhere, error) {
	var err error
	q.holders = owner.ReadHolders()
	if q.lost, err = q.holders.Lost(q.run); err != nil {
		return Elsewhere{}, err
	}
	return askDirs(ctx, q)
}

func known(r owner.Runtime) func() owner.Runtime { return func() owner.Runtime { return r } }

// question says which processes are asked.
type question struct {
	// run is the run directory; except the directory below it that is left out, "" for
	// none.
	run, except string
	// self is the id of the process that is left out, "" for none.
	self string
	// runtime: processes of one that differs from it are left out, unless the directories
	// of all runtimes are asked.
	runtime func() owner.Runtime
	dial    control.Dialer
	// holders are the processes that hold locks, lost what they have yet to restore.
	holders owner.Holders
	lost    owner.LostList
}

// askDirs asks the processes of all directories at the same time.
func askDirs(ctx context.Context, q question) (Elsewhere, error) {
	found := Elsewhere{
		owners: map[types.UID]owner.Holder{}, waiting: map[types.UID]owner.Holder{},
		unsettledIn: map[string][]owner.Holder{}, lost: q.lost,
	}
	dirs, err := filepath.Glob(filepath.Join(q.run, "*"))
	if err != nil {
		return found, err
	}
	for _, dir := range q.lost.Dirs(q.run) {
		if !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	dirs = slices.DeleteFunc(dirs, func(dir string) bool {
		info, err := os.Stat(dir)
		return dir == q.except || err == nil && !info.IsDir() // a lock on the run directory
	})
	below := len(dirs)
	dirs = append(dirs, q.holders.Outside(q.run)...)
	answers, errs := make([]dirAnswer, len(dirs)), make([]error, len(dirs))
	var asking sync.WaitGroup
	for i, dir := range dirs {
		anyRuntime := i < below && q.except == ""
		asking.Go(func() { answers[i], errs[i] = q.askDir(ctx, dir, anyRuntime) })
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

func (q question) askDir(ctx context.Context, dir string, anyRuntime bool) (dirAnswer, error) {
	living, clients, err := control.FindLiving(dir, q.dial)
	if err != nil {
		return dirAnswer{}, err
	}
	living = slices.DeleteFunc(append(living, q.lost.Living(dir)...), func(h owner.Holder) bool {
		return q.self != "" && h.ID == q.self || !anyRuntime && h.Runtime.Name != "" && h.Runtime.Differs(q.runtime())
	})
	clients = slices.DeleteFunc(clients, func(c *control.Client) bool {
		return !slices.ContainsFunc(living, func(h owner.Holder) bool { return h.Name == c.Instance() })
	})
	return dirAnswer{living: living, live: Ask(ctx, clients)}, nil
}

// add adds what the processes of one directory own.
func (e *Elsewhere) add(dir string, a dirAnswer) {
	living := a.living
	for _, l := range a.live {
		i := slices.IndexFunc(living, func(h owner.Holder) bool { return h.Is(l.Process.Name, l.Process.ID) })
		if l.Err != nil || i < 0 {
			continue
		}
		for _, w := range l.Workers {
			if w.Rejected != "" {
				e.waiting[w.UID] = living[i]
			} else {
				e.owners[w.UID] = living[i]
			}
		}
		if l.Settled {
			living = slices.Delete(living, i, i+1)
		}
	}
	for _, h := range living {
		// stop and orphans own no pods.
		if !strings.HasPrefix(h.Name, "stop-") && !strings.HasPrefix(h.Name, "orphans-") {
			e.unsettled = append(e.unsettled, h)
			e.unsettledIn[dir] = append(e.unsettledIn[dir], h)
		}
	}
}

// Pods are the pods that the processes name, and the instances of these; an error if one
// does not say which it owns.
func (e Elsewhere) Pods() (map[types.UID]string, error) {
	if len(e.unsettled) > 0 {
		return nil, fmt.Errorf("podctl %q is alive and does not answer, or has yet to find its pods", e.unsettled[0].Name)
	}
	pods := map[types.UID]string{}
	for _, named := range []map[types.UID]owner.Holder{e.waiting, e.owners} {
		for uid, h := range named {
			pods[uid] = h.Name
		}
	}
	return pods, nil
}

// Owner returns the process that owns the pod, or may own it; ok is false if none
// does. creator and id are those of its newest sandbox. A process that waits for a pod
// does not own it.
func (e Elsewhere) Owner(uid types.UID, fullName, creator, id string) (h owner.Holder, ok bool) {
	if h, ok := e.owners[uid]; ok {
		return h, true
	}
	for _, h := range e.unsettled {
		// A later instance of the name takes its pods over.
		if creator != "" && (h.Name == creator || h.Is(creator, id)) {
			return h, true
		}
	}
	return e.unsettledHolder(fullName)
}

// unsettledHolder is the unsettled instance that holds the name of a pod: it may have
// adopted the pod. Where that cannot be read it is assumed.
func (e Elsewhere) unsettledHolder(fullName string) (h owner.Holder, ok bool) {
	for dir, unsettled := range e.unsettledIn {
		holder, held, err := owner.HolderOf(dir, fullName)
		if !held {
			var lost bool
			if holder, lost = e.lost.Holder(dir, fullName); lost {
				held = true
			}
		}
		i := slices.IndexFunc(unsettled, func(h owner.Holder) bool { return h.Is(holder.Name, holder.ID) })
		switch {
		case held && i >= 0:
			return unsettled[i], true
		case err != nil, held && holder.Name == "":
			return unsettled[0], true
		}
	}
	return owner.Holder{}, false
}

// Assign makes the owner of each pod that no podctl process of this endpoint
// manages. A process that waits for a pod counts, too: it starts the pod once it can.
func (e Elsewhere) Assign(pods []*Pod) {
	for _, p := range pods {
		if !p.mayBeElsewhere() {
			continue
		}
		h, ok := e.Owner(p.UID, p.FullName(), p.Creator, p.CreatorID)
		if !ok {
			h, ok = e.waiting[p.UID]
		}
		if ok {
			p.Elsewhere, p.Alive = h.Name, true
		}
	}
}
