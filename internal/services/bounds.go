package services

import (
	"fmt"

	v1 "k8s.io/api/core/v1"
)

// invalid returns which number or protocol of a Service nft would refuse, with all others in its transaction; "" if none.
// Manifests have none, but the part of another version may.
func (s *Service) invalid() string {
	isPort := func(n int32) bool { return 0 <= n && n <= 65535 }
	for _, p := range s.Ports {
		switch {
		case !isPort(p.Port):
			return fmt.Sprintf("the port %d/%s is none", p.Port, p.Protocol)
		case p.NodePort != 0 && (p.NodePort < firstNodePort || p.NodePort >= firstNodePort+nodePorts):
			return fmt.Sprintf("the node port %d/%s is not in %d-%d", p.NodePort, p.Protocol, firstNodePort, firstNodePort+nodePorts-1)
		case !s.Headless() && p.Protocol != v1.ProtocolTCP && p.Protocol != v1.ProtocolUDP:
			return fmt.Sprintf("the protocol %s is not served", p.Protocol)
		}
	}
	for _, e := range s.Endpoints {
		for _, port := range e.Ports {
			if !isPort(port) {
				return fmt.Sprintf("the port %d of the endpoint %s is none", port, e.Address)
			}
		}
	}
	return ""
}
