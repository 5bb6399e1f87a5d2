package gc

import (
	"context"
	"log/slog"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

const (
	// containerPeriod and imagePeriod are the kubelet's
	// (ContainerGCPeriod, ImageGCPeriod in pkg/kubelet/kubelet.go).
	containerPeriod = time.Minute
	imagePeriod     = 5 * time.Minute
	// unknownGrace is the grace period of a container of which the runtime does not know
	// whether it runs: it is stopped before it is removed (removeOldestN in
	// pkg/kubelet/kuberuntime/kuberuntime_gc.go).
	unknownGrace = v1.DefaultTerminationGracePeriodSeconds * time.Second
)

// Runtime is the part of the CRI that a Collector uses.
type Runtime interface {
	RemoveContainer(ctx context.Context, id string) error
	StopContainer(ctx context.Context, id string, grace time.Duration) error
	StopPodSandbox(ctx context.Context, id string) error
	RemovePodSandbox(ctx context.Context, id string) error
	// Images returns all images; those that a container is made of or mounts
	// are marked as used.
	Images(ctx context.Context) ([]Image, error)
	RemoveImage(ctx context.Context, id string) error
	// ImageSpace is the size of the file system of images, and how much of
	// it is available, in bytes.
	ImageSpace(ctx context.Context) (capacity, available uint64, err error)
}

// Options of a Collector; all but Evicted, RemoveLogs and Log are required.
type Options struct {
	Runtime Runtime
	// Pods are the runtime's as they were listed last, and Mine the UIDs of
	// those whose garbage is to be collected.
	Pods func() []*pod.Pod
	Mine func() map[types.UID]bool
	// Evicted are those of them that were evicted and have ended: no dead container or
	// sandbox of theirs is kept (evictContainers and evictSandboxes in
	// pkg/kubelet/kuberuntime/kuberuntime_gc.go). Nil is none.
	Evicted func() map[types.UID]bool
	// RemoveLogs removes the logs of a container that was removed; nil keeps them.
	// Those of an evicted pod stay as long as the pod.
	RemoveLogs func(*pod.Pod, *pod.Container) error
	// Containers and Images define what is garbage.
	Containers Policy
	Images     ImagePolicy
	Log        *slog.Logger
}

// Collector removes garbage periodically. Create one with New.
type Collector struct {
	o    Options
	seen map[string]Seen
}

// New returns a Collector; nothing happens until Run.
func New(o Options) *Collector {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Collector{o: o, seen: map[string]Seen{}}
}

// Run collects until ctx ends.
func (c *Collector) Run(ctx context.Context) {
	containers, images := time.NewTicker(containerPeriod), time.NewTicker(imagePeriod)
	defer containers.Stop()
	defer images.Stop()
	c.collectImages(ctx) // so that it is known from the start how old each is
	for {
		select {
		case <-ctx.Done():
			return
		case <-containers.C:
			c.collectContainers(ctx)
		case <-images.C:
			c.collectImages(ctx)
		}
	}
}

// collectContainers removes dead containers and sandboxes.
func (c *Collector) collectContainers(ctx context.Context) {
	mine := c.o.Mine()
	evicted := map[types.UID]bool{}
	if c.o.Evicted != nil {
		evicted = c.o.Evicted()
	}
	var kept, gone []*pod.Pod
	podOf := map[*pod.Container]*pod.Pod{}
	for _, p := range c.o.Pods() {
		if !mine[p.UID] {
			continue
		}
		if evicted[p.UID] {
			gone = append(gone, p)
		} else {
			kept = append(kept, p)
		}
		for _, container := range p.Containers {
			podOf[container] = p
		}
	}
	now := time.Now()
	all := Policy{MinAge: c.o.Containers.MinAge, MaxContainers: -1}
	for _, dead := range append(ContainersToRemove(gone, all, now), ContainersToRemove(kept, c.o.Containers, now)...) {
		var err error
		if dead.State == pod.Unknown { // it may run
			err = c.o.Runtime.StopContainer(ctx, dead.ID, unknownGrace)
		}
		if err == nil {
			err = c.o.Runtime.RemoveContainer(ctx, dead.ID)
		}
		if err == nil && c.o.RemoveLogs != nil && !evicted[podOf[dead].UID] {
			err = c.o.RemoveLogs(podOf[dead], dead)
		}
		c.logRemoval("remove dead container", dead.ID, err)
	}
	for _, s := range append(SandboxesToRemove(gone, 0), SandboxesToRemove(kept, 1)...) {
		err := c.o.Runtime.StopPodSandbox(ctx, s.ID) // its network may be left
		if err == nil {
			err = c.o.Runtime.RemovePodSandbox(ctx, s.ID)
		}
		c.logRemoval("remove dead sandbox", s.ID, err)
	}
}

// collectImages removes unused images where the disk is full.
func (c *Collector) collectImages(ctx context.Context) {
	now := time.Now()
	images, err := c.o.Runtime.Images(ctx)
	if err != nil {
		c.o.Log.Warn("collect images", "err", err)
		return
	}
	c.seen = UpdateSeen(c.seen, images, now)
	capacity, available, err := c.o.Runtime.ImageSpace(ctx)
	if err != nil {
		c.o.Log.Warn("collect images", "err", err)
		return
	}
	need := c.o.Images.BytesToFree(capacity, available)
	if need == 0 {
		return
	}
	var freed uint64
	for _, i := range ImagesToRemove(images, c.seen, need, c.o.Images, now) {
		err := c.o.Runtime.RemoveImage(ctx, i.ID)
		if c.logRemoval("remove unused image", i.ID, err); err == nil {
			freed += i.Size
		}
	}
	if freed < need {
		c.o.Log.Warn("the file system of images is full", "free", available, "freed", freed, "wanted", need)
	}
}

// logRemoval logs what was done, or why not.
func (c *Collector) logRemoval(what, id string, err error) {
	if err != nil {
		c.o.Log.Warn(what, "id", id, "err", err)
		return
	}
	c.o.Log.Info(what, "id", id)
}
