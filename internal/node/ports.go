package node

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/preempt"
)

// HostPortError says that a pod of which this podctl process is not the owner has a
// host port.
type HostPortError struct {
	// Taken is the port, and the pod that has it.
	Taken string
}

func (e *HostPortError) Error() string { return "host port in use: " + e.Taken }

// Hint says how to resolve it.
func (*HostPortError) Hint() string {
	return "stop the other pod, or change hostPort; the pod starts once the port is free"
}

// holdPorts keeps other podctl processes from starting a pod with the same host
// ports until release is called. held are the pods that the runtime holds: of those
// without a living owner, too, the network still leads the ports to them.
func (n *Node) holdPorts(ctx context.Context, p *v1.Pod, held []*pod.Pod) (release func(), err error) {
	release = func() {}
	if !preempt.HasHostPort(p) {
		return release, nil
	}
	if n.opts.HostPorts != nil {
		if release, err = n.opts.HostPorts(ctx, p); err != nil {
			return nil, err
		}
	}
	others, err := n.withPorts(ctx, held)
	if err == nil {
		if taken := preempt.PortTaken(p, others); taken != "" {
			err = &HostPortError{Taken: taken}
		}
	}
	if err != nil {
		release()
		return nil, err
	}
	return release, nil
}

// withPorts returns the running pods that are not this node's, with their host
// ports.
func (n *Node) withPorts(ctx context.Context, held []*pod.Pod) ([]*v1.Pod, error) {
	var pods []*v1.Pod
	known := map[string]*v1.Pod{}
	for _, p := range held {
		if n.pods.has(p.UID) {
			continue
		}
		for _, s := range p.Sandboxes {
			if s.State != pod.Running {
				continue
			}
			// A sandbox never changes.
			spec := n.sandboxPorts[s.ID]
			if spec == nil {
				ports, err := n.rt.HostPorts(ctx, s.ID)
				switch {
				case unanswered(err):
					return nil, fmt.Errorf("check host ports: %w", err)
				case err != nil: // as far as the runtime shows them
					n.log.Warn("host ports of a pod are not known", "pod", p.FullName(), "uid", p.UID, "err", err)
				}
				spec = &v1.Pod{
					ObjectMeta: metav1.ObjectMeta{Name: p.Name, Namespace: p.Namespace, UID: p.UID},
					Spec:       v1.PodSpec{Containers: []v1.Container{{Ports: ports}}},
				}
			}
			known[s.ID] = spec
			pods = append(pods, spec)
		}
	}
	n.sandboxPorts = known
	return pods, nil
}
