package node

import (
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/node/podsync"
	"github.com/podctl/podctl/internal/node/probe"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
)

// probeChanged publishes at once whether the pod is ready, and has its worker sync it: a
// container may have to be restarted, or the next one may start (syncLoopIteration in
// pkg/kubelet/kubelet.go). A leaving pod is not synced.
func (n *Node) probeChanged(p *v1.Pod, t probe.Type) {
	if t != probe.Liveness {
		n.sync.Probed(p)
	}
	n.syncPod(p.UID)
}

// probeEvent sends a probe's warning.
func (n *Node) probeEvent(p *v1.Pod, e event.Event) { n.events.send(p, n.sync.Masked(p, e)) }

// containerReader reads what the probes and the syncs know of containers, without values
// of Secrets.
type containerReader struct{ n *Node }

func (r containerReader) BackOffs(uid types.UID) map[string]podsync.BackOff {
	return r.n.sync.BackOffs(uid)
}

func (r containerReader) Start(uid types.UID) pod.Start { return r.n.sync.Start(uid) }

func (r containerReader) Unready(uid types.UID) []event.Unready {
	return r.n.sync.MaskedUnready(uid, r.n.probes.Unready(uid))
}

// briefText returns the part of a probe's output that is kept.
func (n *Node) briefText(uid types.UID, text string, limit int) string {
	return n.sync.Brief(uid, text, limit)
}

// MaskedText returns a text about the pod without values of its Secrets.
func (n *Node) MaskedText(uid types.UID, text string) string { return n.sync.MaskedText(uid, text) }
