package inventory

import (
	"context"
	"path/filepath"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/control"
	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/owner"
)

// Owners finds the live podctl processes that are responsible for pods which no process
// of one directory names. The open files of other processes are read at most once, and
// only if an answer depends on them: there may be thousands.
type Owners struct {
	dir, self string
	dial      control.Dialer
	holders   func() owner.Holders
	lost      func() (owner.LostList, error)
	// identify is what the runtime is recognized by, as far as that is known: a call,
	// and made only if an answer depends on it.
	identify func(context.Context) owner.Runtime
}

// NewOwners returns the owners of the pods of a runtime, which has the directory. self is
// an instance that locks names and owns no pods, "" for none.
func NewOwners(client *cri.Client, dir, self string, dial control.Dialer) Owners {
	holders := sync.OnceValue(owner.ReadHolders)
	return Owners{
		dir: dir, self: self, dial: dial, holders: holders,
		lost: sync.OnceValues(func() (owner.LostList, error) { return holders().Lost(filepath.Dir(dir)) }),
		identify: func(ctx context.Context) owner.Runtime {
			known, _ := Identify(ctx, client) // what is not known does not differ
			return known
		},
	}
}

// Alive reports whether a live podctl process of the directory other than self is
// responsible for a pod. Where that cannot be determined it is.
func (o Owners) Alive(p *Pod) bool {
	if alive, err := owner.Alive(o.dir, p.Creator); alive || err != nil {
		return true
	}
	holder, held, err := owner.HolderOf(o.dir, p.FullName())
	if held && (o.self == "" || holder.Name != o.self) || err != nil {
		return true
	}
	lost, err := o.lost()
	if _, held := lost.Holder(o.dir, p.FullName()); held || err != nil {
		return true
	}
	return slices.ContainsFunc(lost.Living(o.dir), func(h owner.Holder) bool { return h.Is(p.Creator, p.CreatorID) })
}

// Assign sets the owners of the pods that no podctl process of the directory manages:
// the other ones of the host are asked. If every pod is managed, none is.
func (o Owners) Assign(ctx context.Context, pods []*Pod) error {
	if !slices.ContainsFunc(pods, (*Pod).mayBeElsewhere) {
		return nil
	}
	elsewhere, err := o.ask(ctx, filepath.Clean(o.dir))
	elsewhere.Assign(pods)
	return err
}

// All maps the pods of all live podctl processes, on any runtime, to their instances; an
// error if one does not say which it owns.
func (o Owners) All(ctx context.Context) (map[types.UID]string, error) {
	all, err := o.ask(ctx, "")
	if err != nil {
		return nil, err
	}
	return all.Pods()
}

func (o Owners) ask(ctx context.Context, except string) (Elsewhere, error) {
	lost, err := o.lost()
	if err != nil {
		return Elsewhere{}, err
	}
	runtime := sync.OnceValue(func() owner.Runtime { return o.identify(ctx) })
	return askDirs(ctx, question{run: filepath.Dir(o.dir), except: except, runtime: runtime, dial: o.dial, holders: o.holders(), lost: lost})
}

// mayBeElsewhere reports whether a podctl process of another directory can own the pod:
// the runtime has it, and no process of this directory has admitted it. One that names it
// may wait for the other.
func (p *Pod) mayBeElsewhere() bool { return !p.Managed() && p.Runtime != nil }
