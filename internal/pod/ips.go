package pod

import (
	"net/netip"
	"slices"
)

// OrderIPs returns the addresses by which a pod is known, of those that its
// runtime found: the first of the family of the node's primary address, then
// the first of the other family. Without a node address IPv4 comes first
// (sortPodIPs in pkg/kubelet/kubelet_pods.go).
func OrderIPs(found, node []string) []string {
	var four, six []string
	for _, s := range found {
		ip, err := netip.ParseAddr(s)
		switch {
		case err != nil:
		case ip.Unmap().Is4() && four == nil:
			four = []string{ip.Unmap().String()}
		case ip.Is6() && !ip.Is4In6() && six == nil:
			six = []string{ip.String()}
		}
	}
	if len(node) > 0 {
		if ip, err := netip.ParseAddr(node[0]); err == nil && !ip.Unmap().Is4() {
			return slices.Concat(six, four)
		}
	}
	return slices.Concat(four, six)
}
