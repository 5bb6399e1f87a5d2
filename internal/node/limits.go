package node

import (
	"context"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

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
	// ReasonEvicted: the pod was stopped for good, for the sake of the node.
	ReasonEvicted = "Evicted"
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
			if volume, limit, over := n.opts.Volumes.OverLimit(p); over {
				n.evict(p, fmt.Sprintf("Usage of EmptyDir volume %q exceeds the limit %q. ", volume, limit.String()))
			}
		}
	}
}

// limited are the pods with a limit that may run and may be evicted.
func (n *Node) limited() []*v1.Pod {
	n.mu.Lock()
	defer n.mu.Unlock()
	var pods []*v1.Pod
	for _, e := range n.entries {
		p := e.want.Pod
		if e.stage == worker.Syncing && !e.leaving() && e.rejected == nil && !pod.IsCritical(p) && slices.ContainsFunc(p.Spec.Volumes, hasSizeLimit) {
			pods = append(pods, p)
		}
	}
	slices.SortFunc(pods, compareNames)
	return pods
}

func hasSizeLimit(v v1.Volume) bool { return v.EmptyDir != nil && v.EmptyDir.SizeLimit != nil }

// evict stops a pod for good: it stays Failed until its manifest changes, also
// if podctl is killed now (evictPod in pkg/kubelet/eviction/eviction_manager.go).
func (n *Node) evict(p *v1.Pod, message string) {
	n.event(p, ReasonEvicted, true, "%s", message)
	status := v1.PodStatus{Phase: v1.PodFailed, Reason: ReasonEvicted, Message: message}
	n.recordEnd(p, status)
	n.workers.Kill(p, true, worker.KillOptions{
		Grace: new(int64(evictionGrace)), Evict: true,
		Status: worker.StatusOverride{Phase: status.Phase, Reason: status.Reason, Message: status.Message},
	})
}
