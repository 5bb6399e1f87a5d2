package node

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/node/lifecycle"
	"github.com/podctl/podctl/internal/node/poddir"
	"github.com/podctl/podctl/internal/node/podsync"
	"github.com/podctl/podctl/internal/node/probe"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
	"github.com/podctl/podctl/internal/sys/hint"
)

// SetCondition sets a condition of a pod that is not the node's own, such as one of its
// readiness gates, or removes it if its status is empty. It lasts as long as this life of
// the pod, also across restarts of podctl, and counts more than what the manifest says of
// it. The error is ErrNoPod, or says why the condition is not set or removed.
func (n *Node) SetCondition(namespace, name string, c v1.PodCondition) error {
	checked := c
	if c.Status == "" {
		checked.Status = v1.ConditionUnknown // a removal names a type alone
	}
	if err := pod.CheckCondition(checked); err != nil {
		return err
	}
	n.pods.mu.Lock()
	e, err := n.pods.named(namespace, name)
	if err == nil && e.Phase != lifecycle.Active {
		display := pod.DisplayName(namespace, name)
		err = hint.Errorf("podctl describe "+display, "pod %s is not running", display)
	}
	if err == nil && c.Status == "" && !hasCondition(e.record.Conditions, c.Type) && hasCondition(e.Pod.Status.Conditions, c.Type) {
		err = hint.Errorf("remove it from the status.conditions there", "condition %s: the manifest sets it", c.Type)
	}
	if err != nil {
		n.pods.mu.Unlock()
		return err
	}
	uid := e.UID()
	n.pods.mu.Unlock()
	c.LastTransitionTime = metav1.NewTime(time.Now().Truncate(time.Second))
	n.records.update(uid, func(r *poddir.Record) bool {
		all := withCondition(r.Conditions, c)
		if text, _ := json.Marshal(all); len(text) > maxConditions && c.Status != "" { // strings and times encode
			err = fmt.Errorf("set condition of pod %s: its conditions are larger than %d bytes", pod.DisplayName(namespace, name), maxConditions)
			return false
		}
		r.Conditions = all
		return true
	})
	if err != nil {
		return err
	}
	n.syncPod(uid)
	return nil
}

// maxConditions bounds the conditions of a pod that others set, in bytes of their JSON: a
// fraction of what its record may have.
const maxConditions = 256 << 10

// withCondition returns the conditions with another one in place of that of its type, or
// without that if it has no status.
func withCondition(all []v1.PodCondition, c v1.PodCondition) []v1.PodCondition {
	all = slices.Clone(all)
	i := slices.IndexFunc(all, func(other v1.PodCondition) bool { return other.Type == c.Type })
	switch {
	case i < 0 && c.Status == "":
		return all
	case i < 0:
		return append(all, c)
	case c.Status == "":
		return slices.Delete(all, i, i+1)
	case all[i].Status == c.Status:
		c.LastTransitionTime = all[i].LastTransitionTime
	}
	all[i] = c
	return all
}

func hasCondition(all []v1.PodCondition, t v1.PodConditionType) bool {
	return slices.ContainsFunc(all, func(c v1.PodCondition) bool { return c.Type == t })
}

// withConditions is the pod with the conditions that podctl condition set, in place of those
// of its manifest: the pod itself without any.
func withConditions(p *v1.Pod, set []v1.PodCondition) *v1.Pod {
	if len(set) == 0 {
		return p
	}
	p = p.DeepCopy()
	for _, c := range set {
		p.Status.Conditions = withCondition(p.Status.Conditions, c)
	}
	return p
}

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
