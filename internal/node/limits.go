package node

import (
	"context"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/event"
	"github.com/podctl/podctl/internal/lifecycle"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/worker"
)

const (
	// limitsPeriod is how often volumes are measured (evictionMonitoringPeriod
	// in pkg/kubelet/kubelet.go).
	limitsPeriod = 10 * time.Second
	// evictionGrace, in seconds, is what a pod gets that is evicted at once
	// (immediateEvictionGracePeriodSeconds in pkg/kubelet/eviction).
	evictionGrace = 1
	// emptyDirSignal is that of an emptyDir over its limit (signalEmptyDirFsLimit
	// in pkg/kubelet/eviction).
	emptyDirSignal = "emptydirfs.limit"
)

// watchLimits evicts pods of which an emptyDir holds more than its sizeLimit,
// until ctx ends (localStorageEviction in pkg/kubelet/eviction/eviction_manager.go).
// Each pod is measured in a goroutine of its own, because a container can make
// that take arbitrarily long: it delays no other pod, and ends with its pod.
func (n *Node) watchLimits(ctx context.Context) {
	ticker := time.NewTicker(limitsPeriod)
	defer ticker.Stop()
	m := measurements{cancel: map[*v1.Pod]context.CancelFunc{}}
	defer m.running.Wait()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			m.start(ctx, n.pods.withSizeLimit(), func(measuring context.Context, p *v1.Pod) {
				if why, over := n.overLimit(measuring, p); over {
					n.evictNow(ctx, p, why)
				}
			})
		}
	}
}

// overLimit reports whether one of the pod's volumes is over its limit, and which.
func (n *Node) overLimit(ctx context.Context, p *v1.Pod) (why event.Eviction, over bool) {
	volume, limit, over := n.opts.Volumes.OverLimit(ctx, p)
	if !over || !n.pods.runsSpec(p) {
		return event.Eviction{}, false
	}
	return event.Eviction{Cause: event.OverLimit, Volume: volume, Limit: limit.String()}, true
}

// evictNow evicts a pod at once, for what it uses.
func (n *Node) evictNow(ctx context.Context, p *v1.Pod, why event.Eviction) {
	n.opts.Observer.Evicted(emptyDirSignal)
	if err := n.failAndWait(ctx, p, why, new(int64(evictionGrace))); err != nil && ctx.Err() == nil {
		n.log.Warn("evict pod", "pod", pod.DisplayName(p.Namespace, p.Name), "uid", p.UID, "err", err)
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

// withSizeLimit are the pods with a limit that may run and may be evicted.
func (t *podTable) withSizeLimit() []*v1.Pod {
	t.mu.Lock()
	defer t.mu.Unlock()
	var pods []*v1.Pod
	for _, e := range t.entries {
		p := e.Pod
		if e.stage == worker.Syncing && e.Phase == lifecycle.Active && !pod.IsCritical(p) && slices.ContainsFunc(p.Spec.Volumes, hasSizeLimit) {
			pods = append(pods, p)
		}
	}
	slices.SortFunc(pods, lifecycle.CompareNames)
	return pods
}

func hasSizeLimit(v v1.Volume) bool { return v.EmptyDir != nil && v.EmptyDir.SizeLimit != nil }
