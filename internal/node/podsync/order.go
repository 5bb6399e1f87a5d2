package podsync

import (
	"context"
	"slices"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
)

// order makes sidecars stop after the regular containers and in the reverse of
// their start (pkg/kubelet/kuberuntime/kuberuntime_termination_order.go). A
// nil order is none.
type order struct {
	// waitsFor names the containers that must terminate before one is stopped.
	waitsFor map[string][]string

	mu    sync.Mutex
	ended map[string]chan struct{}
}

// newOrder returns the order in which the running containers of the pod stop, nil
// if it has no sidecars and all stop at once.
func newOrder(p *v1.Pod, running []string) *order {
	if !slices.ContainsFunc(p.Spec.InitContainers, func(c v1.Container) bool { return pod.IsSidecar(&c) }) {
		return nil
	}
	o := &order{waitsFor: map[string][]string{}, ended: map[string]chan struct{}{}}
	for _, name := range running {
		o.ended[name] = make(chan struct{})
	}
	var regular []string
	for i := range p.Spec.Containers {
		regular = append(regular, p.Spec.Containers[i].Name)
	}
	after := ""
	for _, c := range slices.Backward(p.Spec.InitContainers) {
		if !pod.IsSidecar(&c) {
			continue
		}
		o.waitsFor[c.Name] = slices.Clone(regular)
		if after != "" {
			o.waitsFor[c.Name] = append(o.waitsFor[c.Name], after)
		}
		after = c.Name
	}
	return o
}

// wait blocks until it is the container's turn, or grace or the context has
// ended, and returns how long that took.
func (o *order) wait(ctx context.Context, name string, grace time.Duration) time.Duration {
	if o == nil || grace <= 0 {
		return 0
	}
	start := time.Now()
	timer := time.NewTimer(grace)
	defer timer.Stop()
	for _, other := range o.waitsFor[name] {
		ended, running := o.ended[other]
		if !running {
			continue
		}
		select {
		case <-ended:
		case <-timer.C:
			return time.Since(start)
		case <-ctx.Done():
			return time.Since(start)
		}
	}
	return time.Since(start)
}

// markTerminated records that the container has terminated. It may be called twice.
func (o *order) markTerminated(name string) {
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	ch, running := o.ended[name]
	if !running {
		return
	}
	select {
	case <-ch:
	default:
		close(ch)
	}
}
