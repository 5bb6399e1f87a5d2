package inventory

import (
	"context"
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

// AskElsewhere asks the live podctl processes of all directories beside one.
func AskElsewhere(ctx context.Context, dir string, dial control.Dialer) (Elsewhere, error) {
	return askBelow(ctx, filepath.Dir(dir), filepath.Clean(dir), dial)
}

func askBelow(ctx context.Context, run, except string, dial control.Dialer) (Elsewhere, error) {
	found := Elsewhere{Owners: map[types.UID]owner.Holder{}, silentIn: map[string][]owner.Holder{}, lost: owner.LostLocks(run)}
	dirs, err := filepath.Glob(filepath.Join(run, "*"))
	if err != nil {
		return found, err
	}
	for _, dir := range found.lost.Dirs(run) {
		if !slices.Contains(dirs, dir) {
			dirs = append(dirs, dir)
		}
	}
	for _, dir := range dirs {
		if dir == except {
			continue
		}
		if err := found.ask(ctx, dir, dial); err != nil {
			return found, err
		}
	}
	return found, nil
}

// ask adds what the processes of one directory own.
func (e *Elsewhere) ask(ctx context.Context, dir string, dial control.Dialer) error {
	living, err := owner.Living(dir)
	if err != nil {
		return err
	}
	living = append(living, e.lost.Living(dir)...)
	clients, err := control.Find(dir, dial)
	if err != nil {
		return err
	}
	for _, l := range Ask(ctx, clients) {
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
	return nil
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
		if p.Manager == nil && p.Runtime != nil {
			if h, ok := e.Owner(p.UID, p.FullName(), p.Creator, p.CreatorID); ok {
				p.Elsewhere, p.Alive = h.Name, true
			}
		}
	}
}

// AliveExcept returns a function that reports whether a live podctl process
// other than self is responsible for a pod that none of them names. Where that
// cannot be determined the answer is true.
func AliveExcept(dir, self string) func(*Pod) bool {
	lost := sync.OnceValue(func() owner.LostList { return owner.LostLocks(filepath.Dir(dir)) })
	return func(p *Pod) bool {
		if alive, err := owner.Alive(dir, p.Creator); alive || err != nil {
			return true
		}
		holder, held, err := owner.HolderOf(dir, p.FullName())
		if held && (self == "" || holder.Name != self) || err != nil {
			return true
		}
		if _, held := lost().Holder(dir, p.FullName()); held {
			return true
		}
		return slices.ContainsFunc(lost().Living(dir), func(h owner.Holder) bool { return h.Is(p.Creator, p.CreatorID) })
	}
}
