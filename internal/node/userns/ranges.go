package userns

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/sys/flock"
)

// Length is how many ids a pod has, and the unit in which they are given out
// (userNsUnitLength in pkg/kubelet/userns/userns_manager.go).
const Length = 65536

// last is the end of the highest range.
const last = 1 << 32

// Ranges are the ids of the pods whose directories lie in one directory.
type Ranges struct {
	pods string
	// lock is the file that is locked while a range is given out.
	lock string
	// nameOf is the name of a pod's directory.
	nameOf func(types.UID) string
}

// New is about the pods in the directory pods below root, whose directories nameOf
// names.
func New(root string, nameOf func(types.UID) string) *Ranges {
	return &Ranges{filepath.Join(root, "pods"), filepath.Join(root, ".userns.lock"), nameOf}
}

// lockWait bounds the wait for other pods that are given their ranges.
const lockWait = 30 * time.Second

// Of returns the pod's range: length ids of the host from first on, which are
// users and groups 0 and on in the pod. A pod without a range is given one; it
// must have a directory. Ranges of one root are given one at a time, by all
// podctl processes; the wait for that is bounded, and ends with ctx.
func (r *Ranges) Of(ctx context.Context, uid types.UID) (first, length uint32, err error) {
	fail := func(err error) (uint32, uint32, error) {
		return 0, 0, fmt.Errorf("give user ids to pod %s: %w", uid, err)
	}
	waiting, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	unlock, err := flock.Lock(waiting, r.lock)
	if err != nil {
		return fail(err)
	}
	defer unlock()
	taken, err := r.taken()
	if err != nil {
		return fail(err)
	}
	name := r.nameOf(uid)
	if own, has := taken[name]; has {
		for other, first := range taken {
			if first == own && other != name {
				return fail(fmt.Errorf("range %d is pod %s's too", own, other))
			}
		}
		return own, Length, nil
	}
	first, err = lowestFree(taken)
	if err != nil {
		return fail(err)
	}
	if err := write(filepath.Join(r.pods, name), first); err != nil {
		return fail(err)
	}
	return first, Length, nil
}

// taken returns the start of the range of each pod that has one, by its directory's name. A file that
// cannot be understood may stand for any range, so it is an error.
func (r *Ranges) taken() (map[string]uint32, error) {
	dirs, err := os.ReadDir(r.pods)
	if err != nil {
		return nil, err
	}
	taken := map[string]uint32{}
	for _, dir := range dirs {
		first, err := read(filepath.Join(r.pods, dir.Name()))
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, errNoDirectory):
		case err != nil:
			return nil, err
		default:
			taken[dir.Name()] = first
		}
	}
	return taken, nil
}

// lowestFree returns the start of a free range. The first is never
// given: it holds the users of the host.
func lowestFree(taken map[string]uint32) (uint32, error) {
	used := map[uint32]bool{}
	for _, first := range taken {
		used[first] = true
	}
	for first := uint64(Length); first < last; first += Length {
		if !used[uint32(first)] {
			return uint32(first), nil
		}
	}
	return 0, errors.New("could not find an empty slot to allocate a user namespace")
}
