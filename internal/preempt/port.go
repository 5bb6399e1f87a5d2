package preempt

import (
	"cmp"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
)

// port is a port of the host.
type port struct {
	protocol v1.Protocol
	number   int32
}

// everyAddress is the address of a host port that names none. IPv6's "::" is
// an address like any other, as in the kubelet.
const everyAddress = "0.0.0.0"

// HasHostPort reports whether the pod asks for a port of the host.
func HasHostPort(p *v1.Pod) bool {
	has := false
	eachHostPort(p, func(port, string) { has = true })
	return has
}

// PortTaken returns the host port of the pod that another pod has, and which pod, without
// its owner; nil if there is none (pkg/scheduler/framework/plugins/nodeports). Init
// containers count if they are sidecars.
func PortTaken(p *v1.Pod, others []*v1.Pod) *event.HostPort {
	wanted := map[port][]string{}
	eachHostPort(p, func(at port, address string) { wanted[at] = append(wanted[at], address) })
	if len(wanted) == 0 {
		return nil
	}
	var taken *event.HostPort
	for _, other := range others {
		eachHostPort(other, func(at port, theirs string) {
			for _, ours := range wanted[at] {
				if taken == nil && (ours == theirs || ours == everyAddress || theirs == everyAddress) {
					taken = &event.HostPort{Port: at.number, Protocol: at.protocol, Namespace: other.Namespace, Name: other.Name, UID: other.UID}
					if theirs != everyAddress {
						taken.Address = theirs
					}
				}
			}
		})
	}
	return taken
}

func eachHostPort(p *v1.Pod, do func(at port, address string)) {
	each := func(c *v1.Container) {
		for _, cp := range c.Ports {
			if cp.HostPort > 0 {
				do(port{cmp.Or(cp.Protocol, v1.ProtocolTCP), cp.HostPort}, cmp.Or(cp.HostIP, everyAddress))
			}
		}
	}
	for i := range p.Spec.InitContainers {
		if c := &p.Spec.InitContainers[i]; pod.IsSidecar(c) {
			each(c)
		}
	}
	for i := range p.Spec.Containers {
		each(&p.Spec.Containers[i])
	}
}
