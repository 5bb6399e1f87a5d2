package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/podctl/podctl/internal/node/admission"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
	"github.com/podctl/podctl/internal/preempt"
)

// HostPortInUseError reports that a pod that is not this node's has a host port of the pod.
type HostPortInUseError struct{ Taken *event.HostPort }

func (e *HostPortInUseError) Error() string { return "host port in use: " + e.Taken.Text() }

// Hint returns what to do about it.
func (e *HostPortInUseError) Hint() string {
	return "stop the other pod, or change hostPort; the pod starts once the port is free"
}

// takenPort returns the host port for which a pod was rejected, or waits; nil if the error
// is not about one.
func takenPort(err error) *event.HostPort {
	if inUse, ok := errors.AsType[*HostPortInUseError](err); ok {
		return inUse.Taken
	}
	if refused, ok := errors.AsType[*admission.Error](err); ok {
		return refused.HostPort
	}
	return nil
}

// hostPorts reserves the host ports of pods that are about to start. Only the loop uses
// it.
type hostPorts struct {
	pods *podTable
	rt   Runtime
	// elsewhere reserves them from other podctl processes: see Options.HostPorts.
	elsewhere func(ctx context.Context, p *v1.Pod) (release func(), err error)
	// listeners is Options.PortListeners.
	listeners func(protocol v1.Protocol, port int32) []string
	log       *slog.Logger
	// sandboxes are the host ports of the running sandboxes of others, by id.
	sandboxes map[string]*v1.Pod
}

// reserve keeps other podctl processes from starting a pod with the same host ports
// until release is called. listed are the pods that the runtime holds: the network still
// leads the ports to a pod without a living owner.
func (h *hostPorts) reserve(ctx context.Context, p *v1.Pod, listed []*pod.Pod) (release func(), err error) {
	release = func() {}
	if !preempt.HasHostPort(p) {
		return release, nil
	}
	if h.elsewhere != nil {
		if release, err = h.elsewhere(ctx, p); err != nil {
			return nil, err
		}
	}
	others, err := h.others(ctx, listed)
	if err == nil {
		if taken := preempt.PortTaken(p, others); taken != nil {
			for _, other := range listed {
				if other.UID == taken.UID {
					taken.CreatedAs(other.Sandboxes[0].Owner, other.MadeByKubelet())
				}
			}
			err = &HostPortInUseError{taken}
		}
	}
	if err != nil {
		release()
		return nil, err
	}
	return release, nil
}

// shared returns a warning for each host port of a pod that a process of the host has, too: the
// network leads connections to the pod, and nothing tells the process.
func (h *hostPorts) shared(p *v1.Pod) []string {
	if h.listeners == nil || pod.IsHostNetwork(p) || !preempt.HasHostPort(p) {
		return nil
	}
	var texts []string
	for _, c := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
		for _, port := range c.Ports {
			protocol := cmp.Or(port.Protocol, v1.ProtocolTCP)
			if port.HostPort == 0 {
				continue
			}
			for _, process := range h.listeners(protocol, port.HostPort) {
				texts = append(texts, fmt.Sprintf("%s listens on host port %d/%s, and its connections go to this pod while that runs", process, port.HostPort, protocol))
			}
		}
	}
	return texts
}

// others returns the running pods that are not this node's, with their host ports.
func (h *hostPorts) others(ctx context.Context, listed []*pod.Pod) ([]*v1.Pod, error) {
	var pods []*v1.Pod
	known := map[string]*v1.Pod{}
	for _, p := range listed {
		if h.pods.has(p.UID) {
			continue
		}
		for _, s := range p.Sandboxes {
			if s.State != pod.Running {
				continue
			}
			// A sandbox never changes.
			spec := h.sandboxes[s.ID]
			if spec == nil {
				ports, err := h.rt.HostPorts(ctx, s.ID)
				switch {
				case isUnanswered(err):
					return nil, fmt.Errorf("check host ports: %w", err)
				case err != nil: // as far as the runtime shows them
					h.log.Warn("host ports of a pod are not known", "pod", p.FullName(), "uid", p.UID, "err", err)
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
	h.sandboxes = known
	return pods, nil
}
