package daemon

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/gc"
	"github.com/podctl/podctl/internal/logrotate"
	"github.com/podctl/podctl/internal/pod"
)

// Housekeeping is what an agent does beside running pods.
type Housekeeping struct {
	Containers gc.Policy
	Images     gc.ImagePolicy
	// Logs: with a negative MaxSize no log is rotated.
	Logs logrotate.Policy
}

// logPeriod is how often log sizes are checked (ContainerLogMonitorInterval in
// pkg/kubelet/apis/config).
const logPeriod = 10 * time.Second

// KeepHouse collects garbage and rotates logs until ctx ends.
func (s *Session) KeepHouse(ctx context.Context, h Housekeeping) {
	var both sync.WaitGroup
	defer both.Wait()
	both.Go(func() {
		gc.New(gc.Options{
			Runtime: newCollected(s.Client), Pods: s.RuntimePods, Mine: s.keptPods,
			Containers: h.Containers, Images: h.Images, Log: s.opts.Log,
		}).Run(ctx)
	})
	if h.Logs.MaxSize >= 0 {
		both.Go(func() { s.rotateLogs(ctx, h.Logs) })
	}
}

// keptPods maps the pods of this podctl to whether they stay.
func (s *Session) keptPods() map[types.UID]bool {
	kept := map[types.UID]bool{}
	for _, i := range s.Pods() {
		kept[i.Pod.UID] = i.Desired && !i.Again && i.Refused() == nil
	}
	return kept
}

// rotateLogs rotates the logs of running containers every logPeriod.
func (s *Session) rotateLogs(ctx context.Context, policy logrotate.Policy) {
	ticker := time.NewTicker(logPeriod)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		held := map[types.UID]*pod.Pod{}
		for _, p := range s.RuntimePods() {
			held[p.UID] = p
		}
		for _, i := range s.Pods() {
			p := held[i.Pod.UID]
			if p == nil || i.Refused() != nil {
				continue
			}
			for _, c := range p.Containers {
				if c.State != pod.Running {
					continue
				}
				path := s.LogFile(i.Pod, c.Name, int32(c.Attempt))
				reopen := func(ctx context.Context) error { return s.Client.ReopenContainerLog(ctx, c.ID) }
				if err := logrotate.Rotate(ctx, path, policy, time.Now(), reopen); err != nil {
					s.opts.Log.Warn("rotate log", "pod", p.FullName(), "container", c.Name, "err", err)
				}
			}
		}
	}
}
