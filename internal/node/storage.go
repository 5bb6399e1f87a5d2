package node

import (
	"context"
	"iter"
	"path/filepath"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
)

// storageUsed is what a pod has on the node's disk, in bytes.
type storageUsed struct {
	// pod is all of it: the writable layers and logs of its running containers, its
	// volumes that are ephemeral, its /etc/hosts.
	pod int64
	// containers has the part of each running container that counts against its own
	// limit, in the order of the pod's status.
	containers []containerStorage
}

type containerStorage struct {
	name string
	used int64
}

// overStorageLimit reports whether the pod has more on disk than the limits of
// ephemeral-storage of its containers together, or a container or sidecar more than its own
// (podEphemeralStorageLimitEviction and containerEphemeralStorageLimitEviction in
// pkg/kubelet/eviction/eviction_manager.go).
func overStorageLimit(p *v1.Pod, used storageUsed) (event.Eviction, bool) {
	limit, limited := pod.Resources(p).Limits[v1.ResourceEphemeralStorage]
	if limited && used.pod > limit.Value() {
		return event.Eviction{Cause: event.OverLimit, Limit: limit.String()}, true
	}
	limits := map[string]v1.ResourceList{}
	for i := range p.Spec.Containers {
		limits[p.Spec.Containers[i].Name] = p.Spec.Containers[i].Resources.Limits
	}
	for i := range p.Spec.InitContainers {
		if c := &p.Spec.InitContainers[i]; pod.IsSidecar(c) {
			limits[c.Name] = c.Resources.Limits
		}
	}
	for _, c := range used.containers {
		if limit := limits[c.name][v1.ResourceEphemeralStorage]; !limit.IsZero() && c.used > limit.Value() {
			return event.Eviction{Cause: event.OverLimit, Container: c.name, Limit: limit.String()}, true
		}
	}
	return event.Eviction{}, false
}

// hasStorageLimit reports whether a container of the pod has a limit of ephemeral-storage.
func hasStorageLimit(p *v1.Pod) bool {
	limited := func(c v1.Container) bool {
		_, is := c.Resources.Limits[v1.ResourceEphemeralStorage]
		return is
	}
	return slices.ContainsFunc(p.Spec.Containers, limited) || slices.ContainsFunc(p.Spec.InitContainers, limited)
}

// writableLayers are those of all running containers of the runtime.
type writableLayers struct {
	// bytes are by id of the container.
	bytes map[string]int64
	// separate: they are not on the node's disk, and do not count against the limits of
	// their containers.
	separate bool
}

// readLayers returns the writable layers, nil if none of the pods has a limit for them or
// they are not known.
func (l *limitWatcher) readLayers(ctx context.Context, pods []*v1.Pod) *writableLayers {
	if !slices.ContainsFunc(pods, hasStorageLimit) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, layersTimeout)
	defer cancel()
	all, err := l.rt.ContainerStats(ctx)
	if err != nil {
		l.log.Debug("read writable layers", "err", err)
		return nil
	}
	layers := &writableLayers{bytes: map[string]int64{}}
	for _, c := range all {
		if c.WritableLayer != nil {
			layers.bytes[c.ID] = int64(*c.WritableLayer)
		}
	}
	if layers.separate, err = l.host.HasDedicatedImageFs(ctx); err != nil {
		l.log.Debug("find file system of images", "err", err)
		layers.separate = true // not known: no container is evicted for it
	}
	return layers
}

// storageUsed measures the pod. The error is ctx's.
func (l *limitWatcher) storageUsed(ctx context.Context, p *v1.Pod, layers *writableLayers) (storageUsed, error) {
	// What is more than this does not change the answer.
	limits := pod.Resources(p).Limits
	enough := limits.StorageEphemeral().Value()
	logs := l.facts.LogDirectory(p)
	used := storageUsed{pod: l.volumes.EphemeralUsage(ctx, p, enough) + l.volumes.FilesUsage(ctx, logs, enough)}
	status, _ := l.pods.status(p.UID)
	for s := range runningContainers(&status) {
		_, id, _ := strings.Cut(s.ContainerID, "://")
		log := l.volumes.FilesUsage(ctx, filepath.Join(logs, s.Name), enough)
		counted := log
		if !layers.separate {
			counted += layers.bytes[id]
		}
		used.pod += log + layers.bytes[id]
		used.containers = append(used.containers, containerStorage{s.Name, counted})
	}
	return used, ctx.Err()
}

// runningContainers returns the containers of all kinds that run.
func runningContainers(s *v1.PodStatus) iter.Seq[*v1.ContainerStatus] {
	return func(yield func(*v1.ContainerStatus) bool) {
		for _, list := range [][]v1.ContainerStatus{s.InitContainerStatuses, s.ContainerStatuses, s.EphemeralContainerStatuses} {
			for i := range list {
				if list[i].State.Running != nil && !yield(&list[i]) {
					return
				}
			}
		}
	}
}
