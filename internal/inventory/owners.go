package inventory

import (
	"context"
	"path/filepath"
	"slices"
	"sync"

	"github.com/podctl/podctl/internal/control"
	"github.com/podctl/podctl/internal/owner"
)

// Owners finds the live podctl processes that are responsible for pods which no process
// of one directory names. The open files of other processes are read at most once, and
// only if an answer depends on them: there may be thousands.
type Owners struct {
	dir, self string
	dial      control.Dialer
	lost      func() owner.LostList
}

// NewOwners returns the owners of the pods of the runtime of a directory. self is an
// instance that locks names and owns no pods, "" for none.
func NewOwners(dir, self string, dial control.Dialer) Owners {
	lost := sync.OnceValue(func() owner.LostList { return owner.LostLocks(filepath.Dir(dir)) })
	return Owners{dir: dir, self: self, dial: dial, lost: lost}
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
	if _, held := o.lost().Holder(o.dir, p.FullName()); held {
		return true
	}
	return slices.ContainsFunc(o.lost().Living(o.dir), func(h owner.Holder) bool { return h.Is(p.Creator, p.CreatorID) })
}

// Assign sets the owners of the pods that no podctl process of the directory manages:
// those of the other directories below the run directory are asked. If every pod is
// managed, none is.
func (o Owners) Assign(ctx context.Context, pods []*Pod) error {
	if !slices.ContainsFunc(pods, (*Pod).mayBeElsewhere) {
		return nil
	}
	elsewhere, err := askDirs(ctx, filepath.Dir(o.dir), filepath.Clean(o.dir), o.dial, o.lost())
	elsewhere.Assign(pods)
	return err
}

// mayBeElsewhere reports whether a podctl process of another directory can own the pod:
// the runtime has it, and no process of this directory has admitted it. One that names it
// may wait for the other.
func (p *Pod) mayBeElsewhere() bool { return !p.Managed() && p.Runtime != nil }
