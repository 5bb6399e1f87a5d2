package services

import (
	"cmp"
	"encoding/binary"
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

	given map[owner]uint32
}

// owner is a Service, which has an address, or its port of which the text is here, which has a node port.
type owner struct {
	service types.NamespacedName
	port    string
}

// Assign returns the objects with what is allocated in the Services, and forgets Services that are
// not among all: those of every source. What a Service asks for is left to Build to judge.
func (a *Allocator) Assign(objects *pod.Objects, all map[types.NamespacedName]bool) *pod.Objects {
	maps.DeleteFunc(a.given, func(o owner, _ uint32) bool { return !all[o.service] })
	if objects == nil || len(objects.Services) == 0 {
		return objects
	}
	if a.given == nil {
		a.given = map[owner]uint32{}
	}
	taken := map[uint32]bool{} // addresses and node ports
	for _, n := range a.given {
		taken[n] = true
	}
	for _, s := range objects.Services {
		if addr, err := netip.ParseAddr(s.Spec.ClusterIP); err == nil && addr.Is4() {
			taken[numberOf(addr)] = true
		}
		for _, p := range s.Spec.Ports {
			taken[uint32(p.NodePort)] = true
		}
	}
	assigned := *objects
	assigned.Services = map[types.NamespacedName]*v1.Service{}
	for _, name := range slices.SortedFunc(maps.Keys(objects.Services), func(x, y types.NamespacedName) int {
		return compareNames(x.Namespace, x.Name, y.Namespace, y.Name)
	}) {
		s := objects.Services[name].DeepCopy()
		a.allocate(name, s, taken)
		assigned.Services[name] = s
	}
	return &assigned
}

// Keep has Services keep the addresses and node ports that a process before gave them.
func (a *Allocator) Keep(served []Service) {
	a.given = map[owner]uint32{}
	for _, s := range served {
		name := types.NamespacedName{Namespace: s.Namespace, Name: s.Name}
		if addr, err := netip.ParseAddr(s.Address); err == nil && s.Problem == "" && a.Range.Contains(addr) {
			a.given[owner{name, ""}] = numberOf(addr)
			for _, p := range s.Ports {
				a.given[owner{name, fmt.Sprint(p.Port, p.Protocol)}] = uint32(p.NodePort)
			}
		}
	}
}

func (a *Allocator) allocate(name types.NamespacedName, s *v1.Service, taken map[uint32]bool) {
	if s.Spec.Type != v1.ServiceTypeExternalName && s.Spec.ClusterIP == "" {
		usable := uint64(1)<<(32-a.Range.Bits()) - reserved - 1 // the last is the broadcast address
		if n := a.number(owner{name, ""}, numberOf(a.Range.Masked().Addr())+reserved, usable, taken); n != 0 {
			s.Spec.ClusterIP = netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, n))).String()
		}
	}
	if s.Spec.Type == v1.ServiceTypeNodePort || s.Spec.Type == v1.ServiceTypeLoadBalancer {
		for i := range s.Spec.Ports {
			if p := &s.Spec.Ports[i]; p.NodePort == 0 {
				p.NodePort = int32(a.number(owner{name, fmt.Sprint(p.Port, p.Protocol)}, firstNodePort, nodePorts, taken))
			}
		}
	}
}

// number returns what the owner has, or the next of size numbers that is free, 0 if none is.
func (a *Allocator) number(o owner, first uint32, size uint64, taken map[uint32]bool) uint32 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(o.service.String() + o.port))
	for i := uint64(0); a.given[o] == 0 && i < size; i++ {
		if n := first + uint32((h.Sum64()+i)%size); !taken[n] {
			taken[n], a.given[o] = true, n
		}
	}
	return a.given[o]
}

func numberOf(addr netip.Addr) uint32 { return binary.BigEndian.Uint32(addr.AsSlice()) }

func compareNames(namespaceA, a, namespaceB, b string) int {
	return cmp.Or(cmp.Compare(namespaceA, namespaceB), cmp.Compare(a, b))
}
