package services

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"maps"
	"net/netip"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

// DefaultRange has the addresses of Services unless the user gives another one.
var DefaultRange = netip.MustParsePrefix("10.96.0.0/16")

const (
	// reserved are the first addresses of the range, which no hash gives: clusters have kubernetes
	// and kube-dns there.
	reserved = 16
	// firstNodePort and nodePorts are the API server's --service-node-port-range.
	firstNodePort, nodePorts = 30000, 2768
)

// Allocator gives Services their addresses and node ports. Both are hashes of the Service's name;
// where one is taken, it is the next that is free. The zero value with Range is ready to use.
type Allocator struct {
	Range netip.Prefix

	addresses map[netip.Addr]types.NamespacedName
	ports     map[int32]portOwner
	given     map[types.NamespacedName]*v1.Service
}

// portOwner is a port of a Service that has a node port.
type portOwner struct {
	service  types.NamespacedName
	protocol v1.Protocol
	port     int32
}

// Assign returns the objects with what is allocated in the Services, and forgets Services that are
// not among all: those of every source. An address that a Service asks for is left to Build to judge.
func (a *Allocator) Assign(objects *pod.Objects, all map[types.NamespacedName]bool) *pod.Objects {
	if a.given == nil {
		a.addresses, a.ports, a.given = map[netip.Addr]types.NamespacedName{}, map[int32]portOwner{}, map[types.NamespacedName]*v1.Service{}
	}
	maps.DeleteFunc(a.given, func(name types.NamespacedName, _ *v1.Service) bool { return !all[name] })
	maps.DeleteFunc(a.addresses, func(_ netip.Addr, name types.NamespacedName) bool { return !all[name] })
	maps.DeleteFunc(a.ports, func(_ int32, p portOwner) bool { return !all[p.service] })
	if objects == nil || len(objects.Services) == 0 {
		return objects
	}
	assigned := *objects
	assigned.Services = map[types.NamespacedName]*v1.Service{}
	names := slices.SortedFunc(maps.Keys(objects.Services), func(x, y types.NamespacedName) int {
		return compareNames(x.Namespace, x.Name, y.Namespace, y.Name)
	})
	for _, name := range names { // those that ask for an address or a port have it first
		a.reserve(name, objects.Services[name])
	}
	for _, name := range names {
		s := objects.Services[name].DeepCopy()
		a.address(name, s)
		a.nodePorts(name, s)
		assigned.Services[name], a.given[name] = s, s
	}
	return &assigned
}

// reserve takes what a Service asks for itself.
func (a *Allocator) reserve(name types.NamespacedName, s *v1.Service) {
	if wanted, err := netip.ParseAddr(s.Spec.ClusterIP); err == nil {
		if _, taken := a.addresses[wanted]; !taken {
			a.addresses[wanted] = name
		}
	}
	for _, p := range s.Spec.Ports {
		if _, taken := a.ports[p.NodePort]; p.NodePort != 0 && !taken {
			a.ports[p.NodePort] = portOwner{name, p.Protocol, p.Port}
		}
	}
}

func (a *Allocator) address(name types.NamespacedName, s *v1.Service) {
	if s.Spec.Type == v1.ServiceTypeExternalName || s.Spec.ClusterIP != "" {
		return
	}
	if before := a.given[name]; before != nil {
		if addr, err := netip.ParseAddr(before.Spec.ClusterIP); err == nil && a.addresses[addr] == name {
			s.Spec.ClusterIP = addr.String()
			return
		}
	}
	size := uint64(1) << (32 - a.Range.Bits())
	usable := size - reserved - 1 // the last is the broadcast address
	base := a.Range.Masked().Addr().As4()
	first := uint64(base[0])<<24 | uint64(base[1])<<16 | uint64(base[2])<<8 | uint64(base[3])
	for i := range usable {
		n := first + reserved + (hashOf(name.String())+i)%usable
		addr := netip.AddrFrom4([4]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
		if _, taken := a.addresses[addr]; !taken {
			a.addresses[addr], s.Spec.ClusterIP = name, addr.String()
			return
		}
	}
}

// nodePorts gives the ports of a NodePort or LoadBalancer their numbers.
func (a *Allocator) nodePorts(name types.NamespacedName, s *v1.Service) {
	if s.Spec.Type != v1.ServiceTypeNodePort && s.Spec.Type != v1.ServiceTypeLoadBalancer {
		return
	}
	for i := range s.Spec.Ports {
		p := &s.Spec.Ports[i]
		owner := portOwner{name, p.Protocol, p.Port}
		for n := uint64(0); p.NodePort == 0 && n < nodePorts; n++ {
			port := int32(firstNodePort + (hashOf(fmt.Sprint(owner))+n)%nodePorts)
			if by, taken := a.ports[port]; !taken || by == owner {
				p.NodePort, a.ports[port] = port, owner
			}
		}
	}
}

func compareNames(namespaceA, a, namespaceB, b string) int {
	return cmp.Or(cmp.Compare(namespaceA, namespaceB), cmp.Compare(a, b))
}

func hashOf(text string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text))
	return h.Sum64()
}
