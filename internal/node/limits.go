package node

import (
	"context"
	"slices"
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
// Measuring takes as long as the disk takes, and holds up nobody.
func (n *Node) watchLimits(ctx context.Context) {
	ticker := time.NewTicker(limitsPeriod)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		for _, p := range n.limited() {
			if ctx.Err() != nil {
				return
			}
			if volume, limit, over := n.opts.Volumes.OverLimit(p); over && n.isCurrent(p) {
				n.opts.Observer.Evicted(emptyDirSignal)
				n.fail(p, event.Eviction{Cause: event.OverLimit, Volume: volume, Limit: limit.String()}, new(int64(evictionGrace)), nil)
			}
		}
	}
}

// isCurrent tells whether the pod still runs by this very spec.
func (n *Node) isCurrent(p *v1.Pod) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	e := n.entryOf(p.UID)
	return e != nil && e.Pod == p && e.Phase == lifecycle.Active
}

// limited are the pods with a limit that may run and may be evicted.
func (n *Node) limited() []*v1.Pod {
	n.mu.Lock()
	defer n.mu.Unlock()
	var pods []*v1.Pod
	for _, e := range n.entries {
		p := e.Pod
		if e.stage == worker.Syncing && e.Phase == lifecycle.Active && !pod.IsCritical(p) && slices.ContainsFunc(p.Spec.Volumes, hasSizeLimit) {
			pods = append(pods, p)
		}
	}
	slices.SortFunc(pods, lifecycle.CompareNames)
	return pods
}

func hasSizeLimit(v v1.Volume) bool { return v.EmptyDir != nil && v.EmptyDir.SizeLimit != nil }
