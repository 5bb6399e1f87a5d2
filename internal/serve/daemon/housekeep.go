package daemon

import (
	"context"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/node/gc"
	"github.com/podctl/podctl/internal/node/logrotate"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/serve/survey"
	"github.com/podctl/podctl/internal/worker"
)

// Housekeeping is what an agent does beside running pods.
type Housekeeping struct {
	Containers gc.Policy
	Images     gc.ImagePolicy
	// Logs: with a negative MaxSize no log is rotated.
	Logs logrotate.Policy
	// Scan is the period in which orphans and stuck terminations are counted for
	// metrics, 0 for never.
	Scan time.Duration
}

// RunHousekeeping collects garbage, rotates logs and scans until ctx ends.
func (s *Session) RunHousekeeping(ctx context.Context, h Housekeeping) {
	var all sync.WaitGroup
	defer all.Wait()
	all.Go(func() {
		gc.New(gc.Options{
			Runtime: newGCRuntime(s.Client), Pods: s.RuntimePods, Mine: s.keptPods, Evicted: s.evictedPods, RemoveLogs: s.removeLogs(),
			Containers: h.Containers, Images: h.Images, Log: s.opts.Log,
		}).Run(ctx)
	})
	if h.Logs.MaxSize >= 0 {
		all.Go(func() { s.rotateLogs(ctx, h.Logs) })
	}
	if h.Scan > 0 {
		all.Go(func() { s.scan(ctx, h.Scan) })
	}
}

// scan counts orphans and stuck terminations.
func (s *Session) scan(ctx context.Context, period time.Duration) {
	node := survey.NewNode(survey.NodeOptions{
		Client: s.Client, Paths: s.used, SkipDirs: s.Ephemeral(), Dial: s.opts.Dial, Procs: s.opts.Procs, Now: s.opts.Now, Log: s.opts.Log,
	})
	scanner := survey.NewScanner(node, period, s.opts.Now, s.opts.Log)
	s.served.scanner.Store(scanner)
	scanner.Run(ctx)
}

// keptPods maps the pods of this podctl to whether they stay.
func (s *Session) keptPods() map[types.UID]bool {
	kept := map[types.UID]bool{}
	for _, i := range s.Pods() {
		kept[i.Pod.UID] = i.Desired && !i.Again && i.Rejected == nil
	}
	return kept
}

// evictedPods returns the pods that were evicted and have ended.
func (s *Session) evictedPods() map[types.UID]bool {
	evicted := map[types.UID]bool{}
	for _, w := range s.Workers() {
		evicted[w.UID] = w.Evicted && w.Phase == worker.Finished
	}
	return evicted
}

// removeLogs returns what removes the logs of a container, nil if logs are kept.
func (s *Session) removeLogs() func(*pod.Pod, *pod.Container) error {
	if s.opts.KeepLogs {
		return nil
	}
	return func(p *pod.Pod, c *pod.Container) error {
		of := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: p.Namespace, Name: p.Name, UID: p.UID}}
		return logrotate.Remove(s.LogFile(of, c.Name, int32(c.Attempt)))
	}
}
