package node

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/cgroup"
)

// sweepPeriod is how often leftover cgroups are looked for. The kubelet looks every
// 2 s; a leftover costs nothing meanwhile.
const sweepPeriod = 10 * time.Second

// cgroupSweep is what the last look for leftover cgroups found. Only the loop and the
// one goroutine that it starts have it.
type cgroupSweep struct {
	running atomic.Bool
	last    time.Time
	// seen are the leftovers that the last look found.
	seen map[cgroup.Leftover]bool
}

// sweepCgroups removes cgroups of pods that do not exist any more
// (cleanupOrphanedPodCgroups in pkg/kubelet/kubelet_pods.go).
func (n *Node) sweepCgroups(ctx context.Context, p *pass) {
	if n.opts.KeepLeftoverCgroups || time.Since(n.sweep.last) < sweepPeriod || !n.sweep.running.CompareAndSwap(false, true) {
		return
	}
	n.sweep.last = time.Now()
	n.removals.Go(func() {
		defer n.sweep.running.Store(false)
		if err := n.sweepOnce(ctx, p); err != nil && ctx.Err() == nil {
			n.log.Debug("look for leftover cgroups", "err", err)
		}
	})
}

// sweepOnce removes the leftovers that were found by the last look, too, and that no
// podctl process has a pod for: a process that made one of these cgroups before they
// were listed knows its pod when it is asked.
func (n *Node) sweepOnce(ctx context.Context, p *pass) error {
	left, err := n.leftoverCgroups(p)
	if err != nil {
		return err
	}
	before := n.sweep.seen
	n.sweep.seen = map[cgroup.Leftover]bool{}
	var again []cgroup.Leftover
	for _, l := range left {
		n.sweep.seen[l] = true
		if before[l] {
			again = append(again, l)
		}
	}
	if len(again) == 0 {
		return nil
	}
	others, err := n.opts.OtherPods(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, l := range again {
		if others[l.UID] != "" || n.pods.has(l.UID) {
			continue
		}
		n.log.Info("remove leftover cgroup", "uid", l.UID)
		errs = append(errs, n.opts.Cgroups.RemoveLeftover(ctx, l))
	}
	return errors.Join(errs...)
}

// leftoverCgroups returns the cgroups without a process whose pods neither this node
// nor the runtime has, and that have no directory: as long as a pod has volumes, its
// cgroup accounts for those in memory.
func (n *Node) leftoverCgroups(p *pass) ([]cgroup.Leftover, error) {
	uids, err := n.opts.Cgroups.List()
	if err != nil {
		return nil, err
	}
	var left []cgroup.Leftover
	var dirs map[types.UID]bool
	for _, uid := range uids {
		if n.pods.has(uid) || p.holds()[uid] {
			continue
		}
		if dirs == nil {
			if dirs, err = n.podDirs(); err != nil {
				return nil, err
			}
		}
		if dirs[uid] {
			continue
		}
		l, ok, err := n.opts.Cgroups.Leftover(uid)
		if err != nil {
			return nil, err
		}
		if ok {
			left = append(left, l)
		}
	}
	return left, nil
}

// podDirs returns the pods, of any runtime, that have a directory.
func (n *Node) podDirs() (map[types.UID]bool, error) {
	names, err := n.opts.Volumes.PodDirs()
	if err != nil {
		return nil, err
	}
	uids := map[types.UID]bool{}
	for _, name := range names {
		uid, _ := n.opts.Dirs.UID(name)
		uids[uid] = true
	}
	return uids, nil
}
