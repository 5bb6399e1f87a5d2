package node

import (
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/desired/manifest"
	"github.com/podctl/podctl/internal/node/lifecycle"
	"github.com/podctl/podctl/internal/node/poddir"
	"github.com/podctl/podctl/internal/pod"
)

// Debug adds an ephemeral container to a pod that runs, as the API server would, and
// returns before it is started. It lasts as long as this life of the pod: its manifest
// does not have it. The error is ErrNoPod, or says why the container is not added.
func (n *Node) Debug(namespace, name string, c v1.EphemeralContainer) error {
	n.pods.mu.Lock()
	e, err := n.pods.named(namespace, name)
	if err == nil && (e.Phase != lifecycle.Active || n.workers.IsPodTerminationRequested(e.UID())) {
		err = fmt.Errorf("pod %s is not running", pod.DisplayName(namespace, name))
	}
	if err != nil {
		n.pods.mu.Unlock()
		return err
	}
	p := e.allocated()
	n.pods.mu.Unlock()
	next, err := manifest.WithEphemeral(p, c)
	if err != nil {
		return err
	}
	added := next.Spec.EphemeralContainers[len(next.Spec.EphemeralContainers)-1]
	n.records.update(p.UID, func(r *poddir.Record) bool {
		r.Debug = append(slices.Clone(r.Debug), added)
		return true
	})
	n.syncPod(p.UID)
	return nil
}

// withDebug is the pod with the ephemeral containers that were added to it: the pod
// itself without any.
func withDebug(p *v1.Pod, added []v1.EphemeralContainer) *v1.Pod {
	if len(added) == 0 {
		return p
	}
	p = p.DeepCopy()
	for _, c := range added {
		named := func(other *v1.Container) bool { return other.Name == c.Name }
		if !slices.ContainsFunc(slices.Collect(pod.AllContainers(p)), named) {
			p.Spec.EphemeralContainers = append(p.Spec.EphemeralContainers, c)
		}
	}
	return p
}
