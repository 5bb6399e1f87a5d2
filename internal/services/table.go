package services

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"

	v1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/utils/ptr"

	"github.com/podctl/podctl/internal/pod"
)

// Input is what one podctl process contributes: its Services with their addresses, the
// EndpointSlices beside them, and its pods, trimmed to what decides about endpoints: see Trim.
type Input struct {
	Services []*v1.Service                `json:"services"`
	Slices   []*discoveryv1.EndpointSlice `json:"slices"`
	Pods     []*v1.Pod                    `json:"pods"`
	// Stale is why this may be out of date; "" if it is current.
	Stale string `json:"-"`
}

// Service is a Service as it is served.
type Service struct {
	Namespace    string            `json:"namespace"`              // its own, and that of its pods
	Name         string            `json:"name"`                   // as in the manifest
	Type         v1.ServiceType    `json:"type"`                   // ClusterIP, NodePort, LoadBalancer or ExternalName
	Address      string            `json:"address"`                // None of a headless one, empty of an ExternalName
	ExternalName string            `json:"externalName,omitempty"` // what the name is an alias of
	Ports        []Port            `json:"ports"`                  // as the manifest has them, in its order
	Selector     map[string]string `json:"selector,omitempty"`     // the labels of its pods; none where there are EndpointSlices instead
	Endpoints    []Endpoint        `json:"endpoints"`              // sorted by address
	Affinity     int32             `json:"affinity,omitempty"`     // seconds for which a client stays with its endpoint
	Note         string            `json:"note,omitempty"`         // why nothing answers
	Problem      string            `json:"problem,omitempty"`      // why it is not served
	Stale        string            `json:"stale,omitempty"`        // why some of this may not be so any more
}

// Port is one port of a Service.
type Port struct {
	Name     string      `json:"name,omitempty"`     // the manifest's
	Protocol v1.Protocol `json:"protocol"`           // TCP or UDP
	Port     int32       `json:"port"`               // at the Service's address
	NodePort int32       `json:"nodePort,omitempty"` // at the machine's addresses
}

// String returns the port as kubectl has it: 80/TCP, 80:30080/TCP.
func (p Port) String() string {
	if p.NodePort != 0 {
		return fmt.Sprintf("%d:%d/%s", p.Port, p.NodePort, p.Protocol)
	}
	return fmt.Sprintf("%d/%s", p.Port, p.Protocol)
}

// Endpoint is an address behind a Service.
type Endpoint struct {
	Address     string  `json:"address"`            // of the pod, or as its EndpointSlice has it
	Ports       []int32 `json:"ports"`              // one for each port of the Service, 0 if it has none
	Pod         string  `json:"pod,omitempty"`      // its name; empty for one of an EndpointSlice
	Hostname    string  `json:"hostname,omitempty"` // under the Service's name
	Ready       bool    `json:"ready"`              // gets connections
	Serving     bool    `json:"serving"`            // the same, though it terminates
	Terminating bool    `json:"terminating"`        // the pod is being terminated
}

// Headless reports whether the Service's name stands for its endpoints.
func (s *Service) Headless() bool { return s.Address == v1.ClusterIPNone }

// Backends are the endpoints that get the connections to a port: the ready ones, or, where there is
// none, those that serve while they terminate (pkg/proxy/topology.go).
func (s *Service) Backends(port int) []Endpoint {
	found, serves := []Endpoint{}, func(e Endpoint) bool { return e.Ready }
	if !slices.ContainsFunc(s.Endpoints, func(e Endpoint) bool { return e.Ready && e.Ports[port] != 0 }) {
		serves = func(e Endpoint) bool { return e.Serving && e.Terminating }
	}
	for _, e := range s.Endpoints {
		if e.Ports[port] != 0 && serves(e) {
			found = append(found, e)
		}
	}
	return found
}

// Build decides what the Services of all processes are served as, sorted by namespace and name. Where two
// processes have a Service of one name, the first of inputs has it. node is the machine's name. What was served before
// keeps its address and node ports.
func Build(inputs []Input, in netip.Prefix, node string, before ...Service) []Service {
	var all []Service
	var merged Input
	for _, i := range inputs {
		merged.Pods, merged.Slices = append(merged.Pods, i.Pods...), append(merged.Slices, i.Slices...)
	}
	named := map[string][]*discoveryv1.EndpointSlice{} // by what they name
	for _, slice := range merged.Slices {
		name := slice.Namespace + "/" + slice.Labels[discoveryv1.LabelServiceName]
		named[name] = append(named[name], slice)
	}
	of := func(s *v1.Service) Input { return Input{Pods: merged.Pods, Slices: named[s.Namespace+"/"+s.Name]} }
	for _, i := range inputs {
		for _, s := range i.Services {
			s = withSlicePorts(s, of(s).Slices)
			built := newService(s)
			built.Stale = i.Stale
			merged.Services, all = append(merged.Services, s), append(all, built)
		}
	}
	reserved, had := map[string]string{}, map[string]string{} // names, addresses and node ports, by what has them
	for _, s := range before {
		for _, claim := range s.claims() {
			had[claim] = s.Namespace + "/" + s.Name
		}
	}
	for _, s := range all {
		for _, claim := range s.claims() {
			if name := s.Namespace + "/" + s.Name; had[claim] == name {
				reserved[claim] = name
			}
		}
	}
	for n, problem := range findTooLarge(merged.Services, of, before) {
		s, built := merged.Services[n], &all[n]
		if built.Problem = problem; problem != "" {
			continue
		}
		built.Endpoints = endpointsOf(s, of(s), node)
		if built.Problem = built.invalid(); built.Problem == "" {
			built.Problem = reserve(built, in, reserved)
		}
		if built.Problem == "" && built.Type != v1.ServiceTypeExternalName && !slices.ContainsFunc(built.Endpoints, func(e Endpoint) bool { return e.Ready }) {
			built.Note = whyNoEndpoints(s, built.Endpoints, merged.Pods)
		}
		for _, other := range inputs {
			if built.Stale == "" && other.Stale != "" && len(endpointsOf(s, other, node)) > 0 {
				built.Stale = other.Stale
			}
		}
	}
	slices.SortStableFunc(all, func(a, b Service) int { return compareNames(a.Namespace, a.Name, b.Namespace, b.Name) })
	return all
}

// newService returns a Service without its endpoints.
func newService(s *v1.Service) Service {
	d := Service{Namespace: s.Namespace, Name: s.Name, Type: s.Spec.Type, Address: s.Spec.ClusterIP, ExternalName: s.Spec.ExternalName, Selector: s.Spec.Selector, Ports: []Port{}, Endpoints: []Endpoint{}}
	for _, p := range s.Spec.Ports {
		d.Ports = append(d.Ports, Port{p.Name, p.Protocol, p.Port, p.NodePort})
	}
	if s.Spec.SessionAffinity == v1.ServiceAffinityClientIP {
		d.Affinity = v1.DefaultClientIPServiceAffinitySeconds
		if c := s.Spec.SessionAffinityConfig; c != nil && c.ClientIP != nil && c.ClientIP.TimeoutSeconds != nil {
			d.Affinity = *c.ClientIP.TimeoutSeconds
		}
	}
	return d
}

// claims are the address and the node ports of a Service, none where it is not served.
func (s *Service) claims() (claims []string) {
	if s.Problem != "" {
		return nil
	}
	if !s.Headless() && s.Type != v1.ServiceTypeExternalName {
		claims = append(claims, "the address "+s.Address)
	}
	for _, p := range s.Ports {
		if p.NodePort != 0 {
			claims = append(claims, fmt.Sprintf("the node port %d/%s", p.NodePort, p.Protocol))
		}
	}
	return claims
}

// reserve reserves the name, the address and the node ports of a Service, or returns why it cannot.
func reserve(s *Service, in netip.Prefix, reserved map[string]string) string {
	name := s.Namespace + "/" + s.Name
	if reserved[name] != "" {
		return "another podctl process has a Service of this name, which is served"
	}
	if !s.Headless() && s.Type != v1.ServiceTypeExternalName {
		if addr, err := netip.ParseAddr(s.Address); err != nil {
			return fmt.Sprintf("no address of %s is free", in)
		} else if !in.Contains(addr) {
			return fmt.Sprintf("spec.clusterIP %s is not in %s", addr, in)
		}
	}
	for _, claim := range s.claims() {
		if by := reserved[claim]; by != "" && by != name {
			return fmt.Sprintf("%s is that of the Service %s", claim, by)
		}
	}
	reserved[name] = name
	for _, claim := range s.claims() {
		reserved[claim] = name
	}
	return ""
}

// endpointsOf returns what is behind a Service: the pods that its selector selects, or the
// EndpointSlices that name it.
func endpointsOf(s *v1.Service, in Input, node string) []Endpoint {
	found := []Endpoint{}
	for _, p := range in.Pods {
		if isBehind(s, p) {
			found = append(found, podEndpoint(s, p))
		}
	}
	for _, slice := range in.Slices {
		if isOf(slice, s) {
			found = append(found, sliceEndpoints(s, slice, node)...)
		}
	}
	slices.SortFunc(found, func(a, b Endpoint) int {
		return cmp.Or(cmp.Compare(a.Address, b.Address), slices.Compare(a.Ports, b.Ports))
	})
	return slices.CompactFunc(found, func(a, b Endpoint) bool { return a.Address == b.Address && slices.Equal(a.Ports, b.Ports) })
}

// selects reports whether a Service selects a pod; one without a selector selects none.
func selects(s *v1.Service, p *v1.Pod) bool {
	return p.Namespace == s.Namespace && len(s.Spec.Selector) > 0 && labels.ValidatedSetSelector(s.Spec.Selector).Matches(labels.Set(p.Labels))
}

// isBehind reports whether a pod is an endpoint of a Service (reconcileByAddressType in k8s.io/endpointslice): pods that
// have ended are not, nor are those without an address.
func isBehind(s *v1.Service, p *v1.Pod) bool {
	return selects(s, p) && addressOf(p) != "" && p.Status.Phase != v1.PodFailed && p.Status.Phase != v1.PodSucceeded
}

// podEndpoint returns the endpoint of a pod (podToEndpoint in k8s.io/endpointslice).
func podEndpoint(s *v1.Service, p *v1.Pod) Endpoint {
	serving, terminating := isReady(p), p.DeletionTimestamp != nil
	e := Endpoint{
		Address: addressOf(p), Ports: []int32{}, Pod: p.Name, Serving: serving, Terminating: terminating,
		Ready: s.Spec.PublishNotReadyAddresses || serving && !terminating,
	}
	if p.Spec.Hostname != "" && p.Spec.Subdomain == s.Name {
		e.Hostname = p.Spec.Hostname
	}
	for i := range s.Spec.Ports {
		e.Ports = append(e.Ports, targetPort(p, &s.Spec.Ports[i]))
	}
	return e
}

func isReady(p *v1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c v1.PodCondition) bool { return c.Type == v1.PodReady && c.Status == v1.ConditionTrue })
}

// addressOf returns the pod's IPv4 address, "" without one.
func addressOf(p *v1.Pod) string {
	for _, ip := range p.Status.PodIPs {
		if addr, err := netip.ParseAddr(ip.IP); err == nil && addr.Is4() {
			return addr.String()
		}
	}
	return ""
}

// targetPort returns the number of a port of a Service in a pod, 0 if no container of it has one of
// that name (FindPort in k8s.io/endpointslice/util).
func targetPort(p *v1.Pod, port *v1.ServicePort) int32 {
	if port.TargetPort.StrVal == "" {
		return cmp.Or(port.TargetPort.IntVal, port.Port)
	}
	for _, c := range slices.Concat(p.Spec.Containers, p.Spec.InitContainers) {
		for _, candidate := range c.Ports {
			if candidate.Name == port.TargetPort.StrVal && cmp.Or(candidate.Protocol, v1.ProtocolTCP) == port.Protocol {
				return candidate.ContainerPort
			}
		}
	}
	return 0
}

// isOf reports whether an EndpointSlice has endpoints of a Service, which selects none itself.
func isOf(slice *discoveryv1.EndpointSlice, s *v1.Service) bool {
	return len(s.Spec.Selector) == 0 && slice.Namespace == s.Namespace && slice.Labels[discoveryv1.LabelServiceName] == s.Name
}

// withSlicePorts returns a headless Service with the ports that only its EndpointSlices have: they have names as well.
func withSlicePorts(s *v1.Service, all []*discoveryv1.EndpointSlice) *v1.Service {
	if s.Spec.ClusterIP != v1.ClusterIPNone {
		return s
	}
	s = s.DeepCopy()
	for _, slice := range all {
		if !isOf(slice, s) {
			continue
		}
		for _, p := range slice.Ports {
			port := v1.ServicePort{Name: ptr.Deref(p.Name, ""), Protocol: ptr.Deref(p.Protocol, v1.ProtocolTCP), Port: ptr.Deref(p.Port, 0)}
			if len(s.Spec.Ports) <= maxPorts && !slices.ContainsFunc(s.Spec.Ports, func(has v1.ServicePort) bool { return has.Name == port.Name }) {
				s.Spec.Ports = append(s.Spec.Ports, port)
			}
		}
	}
	return s
}

func sliceEndpoints(s *v1.Service, slice *discoveryv1.EndpointSlice, node string) (found []Endpoint) {
	isLocal := ptr.Deref(s.Spec.InternalTrafficPolicy, "") == v1.ServiceInternalTrafficPolicyLocal
	ports := make([]int32, len(s.Spec.Ports))
	for i, port := range s.Spec.Ports {
		for _, p := range slice.Ports {
			if ptr.Deref(p.Name, "") == port.Name && ptr.Deref(p.Protocol, port.Protocol) == port.Protocol {
				ports[i] = ptr.Deref(p.Port, 0)
			}
		}
	}
	for _, e := range slice.Endpoints {
		if len(e.Addresses) == 0 || isLocal && ptr.Deref(e.NodeName, "") != node {
			continue
		}
		addr, err := netip.ParseAddr(e.Addresses[0])
		if err != nil || !addr.Is4() {
			continue
		}
		ready := ptr.Deref(e.Conditions.Ready, true)
		found = append(found, Endpoint{
			Address: addr.String(), Ports: ports, Hostname: ptr.Deref(e.Hostname, ""),
			Ready: ready, Serving: ptr.Deref(e.Conditions.Serving, ready), Terminating: ptr.Deref(e.Conditions.Terminating, false),
		})
	}
	return found
}

// Trim returns what of a pod decides about its endpoints.
func Trim(p *v1.Pod) *v1.Pod {
	t := &v1.Pod{}
	t.Namespace, t.Name, t.UID, t.Labels, t.DeletionTimestamp = p.Namespace, p.Name, p.UID, p.Labels, p.DeletionTimestamp
	t.Spec.Hostname, t.Spec.Subdomain = p.Spec.Hostname, p.Spec.Subdomain
	for _, c := range p.Spec.Containers {
		t.Spec.Containers = append(t.Spec.Containers, v1.Container{Ports: c.Ports})
	}
	for _, c := range p.Spec.InitContainers {
		if pod.IsSidecar(&c) {
			t.Spec.InitContainers = append(t.Spec.InitContainers, v1.Container{Ports: c.Ports})
		}
	}
	t.Status.Phase, t.Status.PodIPs = p.Status.Phase, p.Status.PodIPs
	for _, c := range p.Status.Conditions {
		if c.Type == v1.PodReady {
			t.Status.Conditions = []v1.PodCondition{{Type: c.Type, Status: c.Status}}
		}
	}
	return t
}
