package node

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/node/lifecycle"
	"github.com/podctl/podctl/internal/node/render"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
	"github.com/podctl/podctl/internal/worker"
)

const (
	// limitsPeriod is how often storage is measured (evictionMonitoringPeriod
	// in pkg/kubelet/kubelet.go).
	limitsPeriod = 10 * time.Second
	// evictionGrace, in seconds, is what a pod gets that is evicted at once
	// (immediateEvictionGracePeriodSeconds in pkg/kubelet/eviction).
	evictionGrace = 1
	// layersTimeout bounds the runtime's answer about writable layers.
	layersTimeout = 5 * time.Second
)

// limitWatcher evicts pods that have more on disk than they may.
type limitWatcher struct {
	pods     *podTable
	rt       Runtime
	host     Host
	volumes  Volumes
	facts    *render.Node
	evictor  *evictor
	observer Observer
	log      *slog.Logger
}

// run evicts pods that are over a limit of their storage, until ctx ends
// (localStorageEviction in pkg/kubelet/eviction/eviction_manager.go).
// Each pod is measured in a goroutine of its own, because a container can make
// that take arbitrarily long: it delays no other pod, and ends with its pod.
func (l *limitWatcher) run(ctx context.Context) {
	ticker := time.NewTicker(limitsPeriod)
	defer ticker.Stop()
	m := measurements{cancel: map[*v1.Pod]context.CancelFunc{}}
	defer m.running.Wait()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			pods := l.pods.podsWithStorageLimit()
			layers := l.readLayers(ctx, pods)
			m.start(ctx, pods, func(measuring context.Context, p *v1.Pod) {
				if why, over := l.overLimit(measuring, p, layers); over && l.pods.runsSpec(p) {
					l.evictNow(ctx, p, why)
				}
			})
		}
	}
}

// overLimit reports whether the pod is over one of its limits, and which. Without the
// layers, because the runtime does not tell them, only emptyDirs are measured.
func (l *limitWatcher) overLimit(ctx context.Context, p *v1.Pod, layers *writableLayers) (why event.Eviction, over bool) {
	if volume, limit, over := l.volumes.OverLimit(ctx, p); over {
		return event.Eviction{Cause: event.OverLimit, Volume: volume, Limit: limit.String()}, true
	}
	if layers == nil || !hasStorageLimit(p) {
		return event.Eviction{}, false
	}
	used, err := l.storageUsed(ctx, p, layers)
	if err != nil {
		return event.Eviction{}, false
	}
	return overStorageLimit(p, used)
}

// evictNow evicts a pod at once, for what it uses.
func (l *limitWatcher) evictNow(ctx context.Context, p *v1.Pod, why event.Eviction) {
	l.observer.Evicted(evictionSignalOf(why))
	if err := l.evictor.failAndWait(ctx, p, why, new(int64(evictionGrace))); err != nil && ctx.Err() == nil {
		l.log.Warn("evict pod", "pod", pod.DisplayName(p.Namespace, p.Name), "uid", p.UID, "err", err)
	}
}

// evictionSignalOf returns the kubelet's eviction signal
// (pkg/kubelet/eviction/eviction_manager.go).
func evictionSignalOf(why event.Eviction) string {
	switch {
	case why.Volume != "":
		return "emptydirfs.limit"
	case why.Container != "":
		return "ephemeralcontainerfs.limit"
	default:
		return "ephemeralpodfs.limit"
	}
}

// measurements are those in flight, at most one per pod.
type measurements struct {
	running sync.WaitGroup
	mu      sync.Mutex
	cancel  map[*v1.Pod]context.CancelFunc
}

// start measures the pods that are not being measured, and cancels the
// measurements of all others.
func (m *measurements) start(ctx context.Context, pods []*v1.Pod, measure func(context.Context, *v1.Pod)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for p, cancel := range m.cancel {
		if !slices.Contains(pods, p) {
			cancel()
		}
	}
	for _, p := range pods {
		if m.cancel[p] != nil {
			continue
		}
		ctx, cancel := context.WithCancel(ctx)
		m.cancel[p] = cancel
		m.running.Go(func() {
			defer cancel()
			measure(ctx, p)
			m.mu.Lock()
			defer m.mu.Unlock()
			delete(m.cancel, p)
		})
	}
}

// podsWithStorageLimit returns the pods that have a storage limit, may run and may be evicted.
func (t *podTable) podsWithStorageLimit() []*v1.Pod {
	t.mu.Lock()
	defer t.mu.Unlock()
	var pods []*v1.Pod
	for _, e := range t.entries {
		p := e.Pod
		if e.stage == worker.Syncing && e.Phase == lifecycle.Active && !pod.IsCritical(p) &&
			(hasStorageLimit(p) || slices.ContainsFunc(p.Spec.Volumes, hasSizeLimit)) {
			pods = append(pods, p)
		}
	}
	slices.SortFunc(pods, lifecycle.CompareNames)
	return pods
}

func hasSizeLimit(v v1.Volume) bool { return v.EmptyDir != nil && v.EmptyDir.SizeLimit != nil }

// logSpaceLeast is what a file system has free, in bytes, that is not full: less
// is filled by a few lines.
const logSpaceLeast = 64 << 10

// watchLogSpace reports that the file system of the logs is full, until ctx ends.
// The runtime writes the logs, and drops silently what it cannot write.
func watchLogSpace(ctx context.Context, host Host, events *eventSender, log *slog.Logger) {
	ticker := time.NewTicker(limitsPeriod)
	defer ticker.Stop()
	full := false
	for {
		left, err := host.FreeLogSpace()
		switch {
		case errors.Is(err, errors.ErrUnsupported):
			return
		case err != nil:
			log.Debug("read free space of the log directory", "err", err)
		default:
			if left < logSpaceLeast && !full {
				events.emit(event.Event{Reason: event.LogDirectoryFull, Warning: true})
			}
			full = left < logSpaceLeast
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}
