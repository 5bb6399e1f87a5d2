package node

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/desired/manifest"
	"github.com/podctl/podctl/internal/node/poddir"
	"github.com/podctl/podctl/internal/node/podsync"
	"github.com/podctl/podctl/internal/node/render"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
)

// syncHost is the node as podsync sees it.
type syncHost struct{ n *Node }

var _ podsync.Host = syncHost{}

// Sign implements podsync.Host.
func (h syncHost) Sign(p *v1.Pod) error { return h.n.records.createWithOwner(p.UID) }

// Event implements podsync.Host.
func (h syncHost) Event(p *v1.Pod, e event.Event) { h.n.events.send(p, e) }

// Published implements podsync.Host.
func (h syncHost) Published(p *v1.Pod, s v1.PodStatus) {
	h.n.statuses.publish(p, s)
	h.n.records.updateReady(p, s)
}

// Probes implements podsync.Host.
func (h syncHost) Probes(uid types.UID) pod.ProbeResults { return h.n.probes.Results(uid) }

// Unready implements podsync.Host.
func (h syncHost) Unready(uid types.UID) []event.Unready { return h.n.probes.Unready(uid) }

// Annotations implements podsync.Host.
func (h syncHost) Annotations(p *v1.Pod) (map[string]string, error) {
	h.n.pods.mu.Lock()
	e := h.n.pods.get(p.UID)
	var document []byte
	workload, devices := "", ""
	if e != nil {
		document, workload = e.Document, e.Workload
		if len(e.devices) > 0 {
			devices = e.devices.String()
		}
	}
	h.n.pods.mu.Unlock()
	if e == nil {
		return nil, fmt.Errorf("annotate sandbox: pod %s is not known", p.UID)
	}
	compressed, err := manifest.Compress(document)
	if err != nil {
		return nil, err
	}
	annotations := map[string]string{pod.OwnerAnnotation: h.n.opts.Instance, pod.InstanceAnnotation: h.n.locks.ID(), pod.ManifestAnnotation: compressed}
	if workload != "" {
		annotations[pod.WorkloadAnnotation] = workload
	}
	if devices != "" {
		annotations[pod.DevicesAnnotation] = devices
	}
	return annotations, nil
}

// RuntimeHandler implements podsync.Host.
func (h syncHost) RuntimeHandler(p *v1.Pod) string { return h.n.RuntimeHandler(p) }

// Features implements podsync.Host.
func (h syncHost) Features(ctx context.Context, handler string) (podsync.Features, error) {
	return h.n.features.ofHandler(ctx, handler)
}

// UserIDs implements podsync.Host.
func (h syncHost) UserIDs(ctx context.Context, uid types.UID) (first, length uint32, err error) {
	return h.n.opts.Host.UserIDs(ctx, uid)
}

// Resolver implements podsync.Host.
func (h syncHost) Resolver() (render.DNS, error) {
	return h.n.opts.Host.Resolver()
}

// NetworkReady implements podsync.Host.
func (h syncHost) NetworkReady(ctx context.Context) error { return h.n.network.isReady(ctx) }

// Devices implements podsync.Host.
func (h syncHost) Devices(p *v1.Pod, container string) ([]string, error) {
	return h.n.devices.of(p, container)
}

// Resized implements podsync.Host: the next podctl is to know what the containers
// have.
func (h syncHost) Resized(p *v1.Pod) {
	h.n.records.update(p.UID, func(r *poddir.Record) bool {
		r.Resources = pod.AllocationOf(p)
		return true
	})
}
