package main

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/gc"
	"github.com/podctl/podctl/internal/logrotate"
	"github.com/podctl/podctl/internal/pod"
)

// logPeriod is how often logs are looked at (ContainerLogMonitorInterval in
// pkg/kubelet/apis/config).
const logPeriod = 10 * time.Second

// keepHouse collects garbage and rotates logs until ctx ends.
func (a *agent) keepHouse(ctx context.Context) {
	var both sync.WaitGroup
	defer both.Wait()
	both.Go(func() {
		gc.New(gc.Options{
			Runtime: collected{a.session.client}, Pods: a.session.RuntimePods, Mine: a.mine,
			Containers: a.opts.house.containers, Images: a.opts.house.images, Log: a.env.log,
		}).Run(ctx)
	})
	if a.opts.house.logs.MaxSize >= 0 {
		both.Go(func() { a.rotateLogs(ctx) })
	}
}

// mine are the pods of this podctl that stay.
func (a *agent) mine() map[types.UID]bool {
	mine := map[types.UID]bool{}
	for _, i := range a.session.Pods() {
		mine[i.Pod.UID] = i.Desired && !i.Again && i.Rejected == nil
	}
	return mine
}

// rotateLogs rotates the logs of running containers now and then.
func (a *agent) rotateLogs(ctx context.Context) {
	ticker := time.NewTicker(logPeriod)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		held := map[types.UID]*pod.Pod{}
		for _, p := range a.session.RuntimePods() {
			held[p.UID] = p
		}
		for _, i := range a.session.Pods() {
			p := held[i.Pod.UID]
			if p == nil || i.Rejected != nil {
				continue
			}
			for _, c := range p.Containers {
				if c.State != pod.Running {
					continue
				}
				path := a.session.logFile(i.Pod, c.Name, int32(c.Attempt))
				reopen := func(ctx context.Context) error { return a.session.client.ReopenContainerLog(ctx, c.ID) }
				if err := logrotate.Rotate(ctx, path, a.opts.house.logs, time.Now(), reopen); err != nil {
					a.env.log.Warn("rotate log", "pod", p.FullName(), "container", c.Name, "err", err)
				}
			}
		}
	}
}

// collected is the runtime as garbage collection asks for it.
type collected struct{ *cri.Client }

var _ gc.Runtime = collected{}

// Images implements gc.Runtime: an image is used by whatever container, also
// one that is not podctl's.
func (r collected) Images(ctx context.Context) ([]gc.Image, error) {
	// Images before pods: what is pulled for a container that is made meanwhile
	// is not in the list.
	held, err := r.ListImages(ctx)
	if err != nil {
		return nil, err
	}
	pods, err := r.ListPods(ctx)
	if err != nil {
		return nil, err
	}
	used := map[string]bool{}
	for _, p := range pods {
		for _, c := range p.Containers {
			used[c.ImageID], used[c.Image] = true, true
		}
	}
	images := make([]gc.Image, 0, len(held))
	for _, i := range held {
		image := gc.Image{ID: i.ID, Size: i.Size, Pinned: i.Pinned, Used: used[i.ID]}
		for _, names := range [...][]string{i.RepoTags, i.RepoDigests} {
			for _, name := range names {
				image.Used = image.Used || used[name]
			}
		}
		images = append(images, image)
	}
	return images, nil
}

// ImageSpace implements gc.Runtime; 0, 0 where the runtime does not say.
func (r collected) ImageSpace(ctx context.Context) (capacity, available uint64, err error) {
	dir, err := r.ImageFilesystem(ctx)
	if err != nil || dir == "" {
		return 0, 0, err
	}
	return diskSpace(dir)
}
