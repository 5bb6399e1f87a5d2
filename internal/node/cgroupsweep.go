package node

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/node/cgroup"
	"github.com/podctl/podctl/internal/node/poddir"
)

// sweepPeriod is how often leftover cgroups are looked for. The kubelet looks every
// 2 s; a leftover costs nothing meanwhile.
const sweepPeriod = 10 * time.Second

// cgroupSweep removes leftover cgroups. Only the loop and the one goroutine that it
// starts use it.
type cgroupSweep struct {
	pods    *podTable
	cgroups Cgroups
	volumes Volumes
	dirs    *poddir.Dirs
	// others returns the pods of other podctl processes: see Options.OtherPods.
	others     func(ctx context.Context) (map[types.UID]string, error)
	background *sync.WaitGroup
	log        *slog.Logger

	running atomic.Bool
	last    time.Time
	// seen are the leftovers that the last look found.
	seen map[cgroup.Leftover]bool
}

// startSweep removes cgroups of pods that do not exist any more
// (cleanupOrphanedPodCgroups in pkg/kubelet/kubelet_pods.go).
func (s *cgroupSweep) startSweep(ctx context.Context, c *reconcileCache) {
	if time.Since(s.last) < sweepPeriod || !s.running.CompareAndSwap(false, true) {
		return
	}
	s.last = time.Now()
	s.background.Go(func() {
		defer s.running.Store(false)
		if err := s.sweep(ctx, c); err != nil && ctx.Err() == nil {
			s.log.Debug("look for leftover cgroups", "err", err)
		}
	})
}

// sweep removes the leftovers that were found by the last look, too, and that no
// podctl process has a pod for: a process that made one of these cgroups before they
// were listed knows its pod when it is asked.
func (s *cgroupSweep) sweep(ctx context.Context, c *reconcileCache) error {
	left, err := s.leftovers(c)
	if err != nil {
		return err
	}
	before := s.seen
	s.seen = map[cgroup.Leftover]bool{}
	var again []cgroup.Leftover
	for _, l := range left {
		s.seen[l] = true
		if before[l] {
			again = append(again, l)
		}
	}
	if len(again) == 0 {
		return nil
	}
	others, err := s.others(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, l := range again {
		if others[l.UID] != "" || s.pods.has(l.UID) {
			continue
		}
		s.log.Info("remove leftover cgroup", "uid", l.UID)
		errs = append(errs, s.cgroups.RemoveLeftover(ctx, l))
	}
	return errors.Join(errs...)
}

// leftovers returns the cgroups without a process whose pods neither this node
// nor the runtime has, and that have no directory: as long as a pod has volumes, its
// cgroup accounts for those in memory.
func (s *cgroupSweep) leftovers(c *reconcileCache) ([]cgroup.Leftover, error) {
	uids, err := s.cgroups.List()
	if err != nil {
		return nil, err
	}
	var left []cgroup.Leftover
	var dirs map[types.UID]bool
	for _, uid := range uids {
		if s.pods.has(uid) || c.listed()[uid] {
			continue
		}
		if dirs == nil {
			if dirs, err = s.podDirs(); err != nil {
				return nil, err
			}
		}
		if dirs[uid] {
			continue
		}
		l, ok, err := s.cgroups.Leftover(uid)
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
func (s *cgroupSweep) podDirs() (map[types.UID]bool, error) {
	names, err := s.volumes.PodDirs()
	if err != nil {
		return nil, err
	}
	uids := map[types.UID]bool{}
	for _, name := range names {
		uid, _ := s.dirs.UID(name)
		uids[uid] = true
	}
	return uids, nil
}
