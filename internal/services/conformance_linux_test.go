package services

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"
	v1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/knftables"
)

// machine serves Services as a process does, on a kernel that only remembers its rules.
type machine struct {
	t      *testing.T
	alloc  Allocator
	rules  *Rules
	nft    *knftables.Fake
	slices []*discoveryv1.EndpointSlice
	pods   []*v1.Pod
	zone   *Zone
	dump   string
	table  map[string]Service
}

func newMachine(t *testing.T, pods ...*v1.Pod) *machine {
	return &machine{t: t, alloc: Allocator{Range: DefaultRange}, rules: &Rules{Range: DefaultRange}, nft: knftables.NewFake(knftables.IPv4Family, TableName), pods: pods}
}

// serve makes these the Services of the machine.
func (m *machine) serve(all ...*v1.Service) {
	m.t.Helper()
	assigned := m.alloc.Assign(objectsOf(all...), allOf(objectsOf(all...)))
	in := Input{Pods: m.pods, Slices: m.slices}
	for _, s := range all {
		in.Services = append(in.Services, assigned.Services[types.NamespacedName{Namespace: s.Namespace, Name: s.Name}])
	}
	table := Build([]Input{in}, DefaultRange, "node")
	m.dump, m.zone, m.table = apply(m.t, m.nft, m.rules, table), NewZone(table, DefaultRange, nil), map[string]Service{}
	for _, s := range table {
		m.table[s.Name] = s
		if s.Problem != "" {
			m.t.Errorf("%s is not served: %s", s.Name, s.Problem)
		}
	}
}

// ruled checks what the rules have, and with a leading ! what they have not.
func (m *machine) ruled(want ...string) {
	m.t.Helper()
	for _, w := range want {
		text, not := strings.CutPrefix(w, "!")
		if strings.Contains(m.dump, text) == not {
			m.t.Errorf("want %q in\n%s", w, m.dump)
		}
	}
}

// answers checks the records of a name below default.svc.cluster.local.
func (m *machine) answers(name string, kind uint16, want ...string) {
	m.t.Helper()
	msg := m.zone.answer(dns.Question{Name: name + ".default.svc.cluster.local.", Qtype: kind, Qclass: dns.ClassINET})
	var got []string
	for _, r := range msg.Answer {
		got = append(got, strings.Join(strings.Fields(r.String())[4:], " "))
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		m.t.Errorf("%s: %q, want %q", name, got, want)
	}
}

func ofType(kind v1.ServiceType) func(*v1.Service) {
	return func(s *v1.Service) {
		s.Spec.Type, s.Spec.ClusterIP = kind, ""
		if kind == v1.ServiceTypeExternalName {
			s.Spec.ExternalName, s.Spec.Ports, s.Spec.Selector = "foo.example.com", nil, nil
		}
	}
}

func withPorts(ports ...v1.ServicePort) func(*v1.Service) {
	return func(s *v1.Service) { s.Spec.ClusterIP, s.Spec.Ports = "", ports }
}

func portOf(name string, protocol v1.Protocol, number int32, target any) v1.ServicePort {
	p := v1.ServicePort{Name: name, Protocol: protocol, Port: number, TargetPort: intstr.FromString(fmt.Sprint(target))}
	if n, is := target.(int); is {
		p.TargetPort = intstr.FromInt32(int32(n))
	}
	return p
}

// TestServiceChangesType: between ExternalName, ClusterIP and NodePort, in each direction.
func TestServiceChangesType(t *testing.T) {
	m := newMachine(t, readyPod("web-1", "web", "10.0.0.1"))
	m.serve(service("web", ofType(v1.ServiceTypeExternalName)))
	m.answers("web", dns.TypeA, "foo.example.com.")
	m.ruled("!svc/default/web")
	m.serve(service("web", ofType(v1.ServiceTypeClusterIP)))
	first := m.table["web"].Address
	m.answers("web", dns.TypeA, first)
	m.ruled(first+" . tcp . 80", "!service-nodeports { tcp")
	m.serve(service("web", ofType(v1.ServiceTypeNodePort)))
	port := m.table["web"].Ports[0].NodePort
	m.answers("web", dns.TypeA, first)
	m.ruled(first+" . tcp . 80", fmt.Sprintf("tcp . %d", port))
	m.serve(service("web", ofType(v1.ServiceTypeExternalName)))
	m.answers("web", dns.TypeCNAME, "foo.example.com.")
	m.ruled("!svc/default/web", fmt.Sprintf("!tcp . %d", port), "!10.0.0.1")
}

// TestServicePortsChange: ports come and go, of one number with two protocols, too.
func TestServicePortsChange(t *testing.T) {
	m := newMachine(t, readyPod("web-1", "web", "10.0.0.1"))
	tcp, udp := portOf("tcp", v1.ProtocolTCP, 80, 8080), portOf("udp", v1.ProtocolUDP, 80, 8081)
	m.serve(service("web", withPorts(tcp)))
	m.ruled("10.0.0.1 . 8080", "!10.0.0.1 . 8081")
	m.serve(service("web", withPorts(tcp, udp), func(s *v1.Service) { s.Spec.Type = v1.ServiceTypeNodePort }))
	ports := m.table["web"].Ports
	m.ruled("meta l4proto tcp dnat ip to numgen random mod 1 map { 0 : 10.0.0.1 . 8080 }", "meta l4proto udp dnat ip to numgen random mod 1 map { 0 : 10.0.0.1 . 8081 }",
		fmt.Sprintf("nodeports-tcp { %d", ports[0].NodePort), fmt.Sprintf("nodeports-udp { %d", ports[1].NodePort))
	m.answers("_udp._udp.web", dns.TypeSRV, "0 100 80 web.default.svc.cluster.local.")
	m.serve(service("web", withPorts(udp)))
	m.ruled("!10.0.0.1 . 8080", "10.0.0.1 . 8081", "!element ip podctl-services nodeports-tcp")
}

// TestAddressesAreReleased: of a Service that is gone, to the next that asks for them.
func TestAddressesAreReleased(t *testing.T) {
	m := newMachine(t)
	m.serve(service("web", ofType(v1.ServiceTypeNodePort)))
	was := m.table["web"]
	again := func(s *v1.Service) { s.Spec.ClusterIP, s.Spec.Ports[0].NodePort = was.Address, was.Ports[0].NodePort }
	m.serve(service("db", ofType(v1.ServiceTypeNodePort), again))
	m.serve(service("web", ofType(v1.ServiceTypeNodePort)), service("db", ofType(v1.ServiceTypeNodePort), again))
	if now := m.table["web"]; now.Address == was.Address || now.Ports[0].NodePort == was.Ports[0].NodePort {
		t.Errorf("%+v has what db asks for", now)
	}
}

// TestNamedPortOfEachPod: a port's name may be another number in each pod, and one of a sidecar.
func TestNamedPortOfEachPod(t *testing.T) {
	sidecar := readyPod("web-2", "web", "10.0.0.2", func(p *v1.Pod) {
		p.Spec.InitContainers = []v1.Container{{RestartPolicy: ptr.To(v1.ContainerRestartPolicyAlways), Ports: []v1.ContainerPort{{Name: "web", ContainerPort: 9090}}}}
		p.Spec.Containers = nil
	})
	m := newMachine(t, readyPod("web-1", "web", "10.0.0.1"), Trim(sidecar))
	m.serve(service("web", withPorts(portOf("http", v1.ProtocolTCP, 80, "web"))))
	m.ruled("map { 0 : 10.0.0.1 . 8080, 1 : 10.0.0.2 . 9090 }")
}

// TestSessionAffinityIsSwitched: off and on again, and with a timeout.
func TestSessionAffinityIsSwitched(t *testing.T) {
	m := newMachine(t, readyPod("web-1", "web", "10.0.0.1"), readyPod("web-2", "web", "10.0.0.2"))
	sticky := func(s *v1.Service) {
		s.Spec.SessionAffinity = v1.ServiceAffinityClientIP
		s.Spec.SessionAffinityConfig = &v1.SessionAffinityConfig{ClientIP: &v1.ClientIPConfig{TimeoutSeconds: ptr.To(int32(60))}}
	}
	for range 2 {
		m.serve(service("web", sticky))
		m.ruled("ip saddr @clients/default/web/tcp/80/10.0.0.1/8080 goto ep/", "timeout 60s", "numgen random mod 2 vmap { 0 : goto ep/")
		m.serve(service("web"))
		m.ruled("!clients/", "!ep/", "numgen random mod 2 map")
	}
}

// TestServiceOfSeveralSlices: addresses, and for a headless one ports, that are in several EndpointSlices.
func TestServiceOfSeveralSlices(t *testing.T) {
	m := newMachine(t)
	for i, name := range []string{"http", "https"} {
		slice := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: "web"}}}
		slice.Ports = []discoveryv1.EndpointPort{{Name: ptr.To(name), Port: ptr.To(int32(8080 + i)), Protocol: ptr.To(v1.ProtocolTCP)}}
		slice.Endpoints = []discoveryv1.Endpoint{{Addresses: []string{"192.0.2.1"}}, {Addresses: []string{fmt.Sprintf("192.0.2.%d", 2+i)}}}
		m.slices = append(m.slices, slice)
	}
	unselected := func(s *v1.Service) { s.Spec.Selector = nil }
	m.serve(service("web", unselected, withPorts(portOf("http", v1.ProtocolTCP, 80, 80), portOf("https", v1.ProtocolTCP, 443, 443))))
	m.ruled("{ 0 : 192.0.2.1 . 8080, 1 : 192.0.2.2 . 8080 }", "{ 0 : 192.0.2.1 . 8081, 1 : 192.0.2.3 . 8081 }")
	m.serve(service("web", unselected, headless))
	m.answers("web", dns.TypeA, "192.0.2.1", "192.0.2.2", "192.0.2.3")
	m.answers("_https._tcp.web", dns.TypeSRV, "0 50 8081 192-0-2-1.web.default.svc.cluster.local.", "0 50 8081 192-0-2-3.web.default.svc.cluster.local.")
}

// TestServiceIsRecreated: it has its address again, and what selects nothing has no rule but is rejected.
func TestServiceIsRecreated(t *testing.T) {
	m := newMachine(t, readyPod("web-1", "web", "10.0.0.1"))
	without := withPorts(portOf("http", v1.ProtocolTCP, 80, "web"))
	m.serve(service("web", without))
	was := m.table["web"].Address
	m.serve()
	m.ruled("!svc/", "ip daddr 10.96.0.0/16 reject")
	m.serve(service("web", without))
	if now := m.table["web"].Address; now != was {
		t.Errorf("%s became %s", was, now)
	}
	m.pods[0].Status.Phase = v1.PodFailed // as an evicted one
	m.serve(service("web", without))
	m.ruled("!svc/", "ip daddr 10.96.0.0/16 reject")
}
