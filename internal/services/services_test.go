package services

import (
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"
	v1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/podctl/podctl/internal/pod"
)

func service(name string, change ...func(*v1.Service)) *v1.Service {
	s := &v1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}
	s.Spec.Type, s.Spec.ClusterIP, s.Spec.Selector = v1.ServiceTypeClusterIP, "10.96.1.1", map[string]string{"app": name}
	s.Spec.Ports = []v1.ServicePort{{Name: "http", Protocol: v1.ProtocolTCP, Port: 80, TargetPort: intstr.FromString("web")}}
	for _, c := range change {
		c(s)
	}
	return s
}

func readyPod(name, app, ip string, change ...func(*v1.Pod)) *v1.Pod {
	p := &v1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: map[string]string{"app": app}}}
	p.Spec.Containers = []v1.Container{{Ports: []v1.ContainerPort{{Name: "web", ContainerPort: 8080}}}}
	p.Status = v1.PodStatus{Phase: v1.PodRunning, PodIPs: []v1.PodIP{{IP: ip}}, Conditions: []v1.PodCondition{{Type: v1.PodReady, Status: v1.ConditionTrue}}}
	for _, c := range change {
		c(p)
	}
	return p
}

func unready(p *v1.Pod)     { p.Status.Conditions = nil }
func terminating(p *v1.Pod) { p.DeletionTimestamp = &metav1.Time{} }
func headless(s *v1.Service) {
	s.Spec.ClusterIP = v1.ClusterIPNone
}

func build(s *v1.Service, pods ...*v1.Pod) Service {
	return Build([]Input{{Services: []*v1.Service{s}, Pods: pods}}, DefaultRange, "node")[0]
}

// TestEndpointsOfPods has the rules of the endpoint controller, a row each.
func TestEndpointsOfPods(t *testing.T) {
	publish := func(s *v1.Service) { s.Spec.PublishNotReadyAddresses = true }
	for name, c := range map[string]struct {
		service func(*v1.Service)
		pod     func(*v1.Pod)
		want    string // address:ports flags
	}{
		"ready":                    {want: "10.0.0.1:[8080] ready serving"},
		"not ready":                {pod: unready, want: "10.0.0.1:[8080]"},
		"not ready, but published": {service: publish, pod: unready, want: "10.0.0.1:[8080] ready"},
		"terminating":              {pod: terminating, want: "10.0.0.1:[8080] serving terminating"},
		"terminating, published":   {service: publish, pod: terminating, want: "10.0.0.1:[8080] ready serving terminating"},
		"failed":                   {pod: func(p *v1.Pod) { p.Status.Phase = v1.PodFailed }},
		"without an address":       {pod: func(p *v1.Pod) { p.Status.PodIPs = nil }},
		"of another label":         {pod: func(p *v1.Pod) { p.Labels["app"] = "db" }},
		"of another namespace":     {pod: func(p *v1.Pod) { p.Namespace = "other" }},
		"without the named port":   {pod: func(p *v1.Pod) { p.Spec.Containers = nil }, want: "10.0.0.1:[0] ready serving"},
		"of another protocol":      {pod: func(p *v1.Pod) { p.Spec.Containers[0].Ports[0].Protocol = v1.ProtocolUDP }, want: "10.0.0.1:[0] ready serving"},
		"numbered port":            {service: func(s *v1.Service) { s.Spec.Ports[0].TargetPort = intstr.FromInt32(9) }, want: "10.0.0.1:[9] ready serving"},
		"no target port":           {service: func(s *v1.Service) { s.Spec.Ports[0].TargetPort = intstr.IntOrString{} }, want: "10.0.0.1:[80] ready serving"},
		"headless without a port":  {service: func(s *v1.Service) { headless(s); s.Spec.Ports = nil }, want: "10.0.0.1:[] ready serving"},
		"no selector":              {service: func(s *v1.Service) { s.Spec.Selector = nil }},
		"hostname": {
			pod:  func(p *v1.Pod) { p.Spec.Hostname, p.Spec.Subdomain = "web-0", "web" },
			want: "10.0.0.1:[8080] ready serving web-0",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, p := service("web"), readyPod("web-1", "web", "10.0.0.1")
			if c.service != nil {
				c.service(s)
			}
			if c.pod != nil {
				c.pod(p)
			}
			got := ""
			for _, e := range build(s, p).Endpoints {
				got = fmt.Sprintf("%s:%v", e.Address, e.Ports)
				for flag, set := range map[string]bool{"1ready": e.Ready, "2serving": e.Serving, "3terminating": e.Terminating} {
					if set {
						got += " " + flag
					}
				}
				words := strings.Fields(got)
				slices.Sort(words[1:])
				for i := range words[1:] {
					words[1+i] = words[1+i][1:]
				}
				got = strings.TrimSpace(strings.Join(words, " ") + " " + e.Hostname)
			}
			if got != c.want {
				t.Errorf("endpoints %q, want %q", got, c.want)
			}
		})
	}
}

func TestBackendsFallBackToTerminatingPods(t *testing.T) {
	down := readyPod("web-1", "web", "10.0.0.1", terminating)
	if got := build(service("web"), down, readyPod("web-2", "web", "10.0.0.2")); len(got.Backends(0)) != 1 || got.Backends(0)[0].Pod != "web-2" {
		t.Errorf("backends %v, want the ready pod alone", got.Backends(0))
	}
	if got := build(service("web"), down); len(got.Backends(0)) != 1 {
		t.Errorf("backends %v, want the pod that terminates and serves", got.Backends(0))
	}
}

func TestEndpointsOfSlices(t *testing.T) {
	port, no, node := int32(5432), false, "node"
	name := "http"
	slice := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "x", Labels: map[string]string{discoveryv1.LabelServiceName: "web"}}}
	slice.Ports = []discoveryv1.EndpointPort{{Name: &name, Port: &port}}
	slice.Endpoints = []discoveryv1.Endpoint{{Addresses: []string{"192.0.2.1"}, NodeName: &node}, {Addresses: []string{"192.0.2.2"}, Conditions: discoveryv1.EndpointConditions{Ready: &no}}}
	s := service("web", func(s *v1.Service) { s.Spec.Selector = nil })
	got := Build([]Input{{Services: []*v1.Service{s}, Slices: []*discoveryv1.EndpointSlice{slice}}}, DefaultRange, "node")[0]
	if len(got.Endpoints) != 2 || !got.Endpoints[0].Ready || got.Endpoints[1].Ready || got.Endpoints[0].Ports[0] != 5432 {
		t.Errorf("endpoints %+v", got.Endpoints)
	}
	local := v1.ServiceInternalTrafficPolicyLocal
	s.Spec.InternalTrafficPolicy = &local
	if got := Build([]Input{{Services: []*v1.Service{s}, Slices: []*discoveryv1.EndpointSlice{slice}}}, DefaultRange, "node")[0]; len(got.Endpoints) != 1 {
		t.Errorf("endpoints with internalTrafficPolicy Local: %+v, want that of the node", got.Endpoints)
	}
}

func TestWhyNothingAnswers(t *testing.T) {
	for want, pods := range map[string][]*v1.Pod{
		"no pod has app=web":        nil,
		"not ready: web-1":          {readyPod("web-1", "web", "10.0.0.1", unready)},
		"without an address: web-1": {readyPod("web-1", "web", "")},
		"no pod of the namespace has app=web, but other/web-1":            {readyPod("web-1", "web", "10.0.0.1", func(p *v1.Pod) { p.Namespace = "other" })},
		"no pod has app=web,tier=a: pod web-1 has tier=b":                 {readyPod("web-1", "web", "10.0.0.1", func(p *v1.Pod) { p.Labels["tier"] = "b" })},
		"no selector, and no EndpointSlice with the label kubernetes.io/": nil,
	} {
		s := service("web")
		if strings.Contains(want, "tier") {
			s.Spec.Selector["tier"] = "a"
		}
		if strings.HasPrefix(want, "no selector") {
			s.Spec.Selector = nil
		}
		if got := build(s, pods...).Note; !strings.HasPrefix(got, want) {
			t.Errorf("note %q, want %q", got, want)
		}
	}
}

func TestConflictsAreNamed(t *testing.T) {
	nodePort := func(s *v1.Service) { s.Spec.Type, s.Spec.Ports[0].NodePort = v1.ServiceTypeNodePort, 30080 }
	for want, services := range map[string][]*v1.Service{
		"another podctl process has a Service of this name": {service("web"), service("web")},
		"the address 10.96.1.1 is that of the Service":      {service("a"), service("b")},
		"spec.clusterIP 192.0.2.1 is not in 10.96.0.0/16":   {service("a"), service("b", func(s *v1.Service) { s.Spec.ClusterIP = "192.0.2.1" })},
		"the node port 30080/TCP is that of the Service":    {service("a", nodePort), service("b", nodePort, func(s *v1.Service) { s.Spec.ClusterIP = "10.96.1.2" })},
	} {
		got := Build([]Input{{Services: services}}, DefaultRange, "node")
		if got[0].Problem != "" || !strings.HasPrefix(got[1].Problem, want) {
			t.Errorf("problems %q, %q, want %q", got[0].Problem, got[1].Problem, want)
		}
	}
	refused := service("web", func(s *v1.Service) { s.Spec.ClusterIP = "192.0.2.1" })
	if got := Build([]Input{{Services: []*v1.Service{refused, service("web")}}}, DefaultRange, "node"); got[0].Problem == "" || got[1].Problem != "" {
		t.Errorf("problems %q, %q: one that is refused keeps the name from the other", got[0].Problem, got[1].Problem)
	}
}

func objectsOf(services ...*v1.Service) *pod.Objects {
	o := pod.NewObjects()
	for _, s := range services {
		o.Services[types.NamespacedName{Namespace: s.Namespace, Name: s.Name}] = s
	}
	return o
}

func allOf(o *pod.Objects) map[types.NamespacedName]bool {
	all := map[types.NamespacedName]bool{}
	for n := range o.Services {
		all[n] = true
	}
	return all
}

// TestAddressesAreStable: the address is the same for another process, and stays when a Service comes that
// would have had it.
func TestAddressesAreStable(t *testing.T) {
	without := func(s *v1.Service) { s.Spec.ClusterIP = "" }
	address := func(o *pod.Objects, name string) string {
		return o.Services[types.NamespacedName{Namespace: "default", Name: name}].Spec.ClusterIP
	}
	first := &Allocator{Range: netip.MustParsePrefix("10.96.0.0/26")}
	var many []*v1.Service
	for i := range 40 {
		many = append(many, service(fmt.Sprintf("s%d", i), without))
	}
	before := first.Assign(objectsOf(many[20:]...), allOf(objectsOf(many...)))
	after := first.Assign(objectsOf(many...), allOf(objectsOf(many...)))
	used := map[string]bool{}
	for i, s := range many {
		a := address(after, s.Name)
		if used[a] || a == "" {
			t.Errorf("%s has the address %q of another Service", s.Name, a)
		}
		used[a] = true
		if i >= 20 && a != address(before, s.Name) {
			t.Errorf("%s moved from %s to %s", s.Name, address(before, s.Name), a)
		}
	}
	one, other := Allocator{Range: DefaultRange}, Allocator{Range: DefaultRange}
	a, b := one.Assign(objectsOf(many[0]), allOf(objectsOf(many[0]))), other.Assign(objectsOf(many...), allOf(objectsOf(many...)))
	if address(a, "s0") != address(b, "s0") {
		t.Errorf("s0 has %s alone and %s among others", address(a, "s0"), address(b, "s0"))
	}
}

func TestNodePortsAreAllocated(t *testing.T) {
	balancer := objectsOf(service("web", func(s *v1.Service) { s.Spec.Type = v1.ServiceTypeLoadBalancer }))
	a := Allocator{Range: DefaultRange}
	port := a.Assign(balancer, allOf(balancer)).Services[types.NamespacedName{Namespace: "default", Name: "web"}].Spec.Ports[0].NodePort
	if port < 30000 || port > 32767 {
		t.Errorf("node port %d", port)
	}
}

func TestConflictOfTheHost(t *testing.T) {
	for rules, want := range map[string]string{
		"table ip kube-proxy {\n}\n":                                                                                              "table ip kube-proxy",
		"table ip nat {\n\tchain KUBE-SERVICES {\n\t}\n}\n":                                                                       "chain KUBE-SERVICES",
		"table ip lb {\n\tchain x {\n\t\tip daddr 10.96.3.4 dnat to 1.2.3.4\n\t}\n}\n":                                            "10.96.3.4/32",
		"table ip lb {\n\tchain x {\n\t\tip daddr 10.0.0.0/8 accept\n\t}\n}\n":                                                    "",
		"table ip podctl-services {\n\tchain x {\n\t\tip daddr 10.96.3.4 accept\n\t}\n}\n":                                        "",
		"table ip nat {\n\tchain CNI-DN-x {\n\t\tip daddr 10.96.3.4 tcp dport 80 dnat to 10.88.0.5:80\n\t}\n}\n":                  "",
		"table ip cni_hostport {\n\tchain hostip_hostports {\n\t\tip daddr 10.96.3.4 tcp dport 80 dnat to 10.88.0.5:80\n\t}\n}\n": "",
		"table ip nat {\n\tchain CNI-HOSTPORT-DNAT {\n\t}\n\tchain x {\n\t\tip daddr 10.96.3.4 accept\n\t}\n}\n":                  "10.96.3.4/32",
		"table ip nat {\n\tchain CNI-x {\n\t\tip saddr 10.201.3.4 counter masquerade\n\t}\n}\n":                                   "",
	} {
		err := findConflict(rules, DefaultRange)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("conflict %v, want %q, of\n%s", err, want, rules)
		}
	}
}

// TestZone has the records of the specification of Kubernetes' DNS.
func TestZone(t *testing.T) {
	web := build(service("web"), readyPod("web-1", "web", "10.0.0.1"))
	db := build(service("db", headless), readyPod("db-0", "db", "10.0.0.2", func(p *v1.Pod) { p.Spec.Hostname, p.Spec.Subdomain = "db-0", "db" }),
		readyPod("db-1", "db", "10.0.0.3"), readyPod("db-2", "db", "10.0.0.4", unready))
	alias := build(service("alias", func(s *v1.Service) {
		s.Spec.Type, s.Spec.ExternalName, s.Spec.ClusterIP = v1.ServiceTypeExternalName, "example.org", ""
	}))
	z := NewZone([]Service{web, db, alias}, DefaultRange, []PodAddress{{Namespace: "jobs"}})
	for query, want := range map[string]string{
		"web.default.svc.cluster.local. A":               "A 10.96.1.1",
		"WEB.default.svc.Cluster.local. A":               "A 10.96.1.1",
		"web.default.svc.cluster.local. AAAA":            "NOERROR",
		"_http._tcp.web.default.svc.cluster.local. SRV":  "SRV 0 100 80 web.default.svc.cluster.local.",
		"_http._udp.web.default.svc.cluster.local. SRV":  "NXDOMAIN",
		"db.default.svc.cluster.local. A":                "A 10.0.0.2, A 10.0.0.3",
		"db-0.db.default.svc.cluster.local. A":           "A 10.0.0.2",
		"10-0-0-3.db.default.svc.cluster.local. A":       "A 10.0.0.3",
		"db-2.db.default.svc.cluster.local. A":           "NXDOMAIN",
		"_http._tcp.db.default.svc.cluster.local. SRV":   "SRV 0 50 8080 10-0-0-3.db.default.svc.cluster.local., SRV 0 50 8080 db-0.db.default.svc.cluster.local.",
		"alias.default.svc.cluster.local. A":             "CNAME example.org.",
		"10-1-2-3.default.pod.cluster.local. A":          "A 10.1.2.3",
		"10-1-2-3.jobs.pod.cluster.local. A":             "A 10.1.2.3",
		"10-1-2-3.none.pod.cluster.local. A":             "NXDOMAIN",
		"1.1.96.10.in-addr.arpa. PTR":                    "PTR web.default.svc.cluster.local.",
		"2.0.0.10.in-addr.arpa. PTR":                     "PTR db-0.db.default.svc.cluster.local.",
		"9.9.96.10.in-addr.arpa. PTR":                    "NXDOMAIN",
		"9.9.9.9.in-addr.arpa. PTR":                      "forwarded",
		"none.default.svc.cluster.local. A":              "NXDOMAIN",
		"default.svc.cluster.local. A":                   "NOERROR",
		"svc.cluster.local. A":                           "NOERROR",
		"dns-version.cluster.local. TXT":                 `TXT "1.1.0"`,
		"example.org. A":                                 "forwarded",
		"cluster.local.example.org. A":                   "forwarded",
		"web.default.svc.cluster.local.cluster.local. A": "NXDOMAIN",
	} {
		name, kind, _ := strings.Cut(query, " ")
		r := z.answer(dns.Question{Name: name, Qtype: dns.StringToType[kind], Qclass: dns.ClassINET})
		var got []string
		if r == nil {
			r = &dns.Msg{MsgHdr: dns.MsgHdr{Rcode: -1}}
		}
		for _, rr := range r.Answer {
			fields := strings.Fields(rr.String())
			got = append(got, strings.Join(fields[3:], " "))
		}
		slices.Sort(got)
		text := strings.Join(got, ", ")
		switch {
		case r.Rcode < 0:
			text = "forwarded"
		case text == "":
			text = dns.RcodeToString[r.Rcode]
		}
		if text != want {
			t.Errorf("%s: %s, want %s", query, text, want)
		}
	}
}

// TestServiceWithBadNumbersIsNotServed: a part of another version may have what its manifests did not refuse, and nft
// refuses all Services for one such number.
func TestServiceWithBadNumbersIsNotServed(t *testing.T) {
	nodePort := func(s *v1.Service) { s.Spec.Type, s.Spec.Ports[0].NodePort = v1.ServiceTypeNodePort, 30080 }
	for want, change := range map[string]func(*v1.Service, *v1.Pod){
		"the port 70000/TCP cannot be served":         func(s *v1.Service, _ *v1.Pod) { s.Spec.Ports[0].Port = 70000 },
		"the node port 53/TCP is not in 30000-32767":  func(s *v1.Service, _ *v1.Pod) { s.Spec.Ports[0].NodePort = 53 },
		"the node port -1/TCP is not in 30000-32767":  func(s *v1.Service, _ *v1.Pod) { s.Spec.Ports[0].NodePort = -1 },
		"the port 80/SCTP cannot be served":           func(s *v1.Service, _ *v1.Pod) { s.Spec.Ports[0].Protocol = v1.ProtocolSCTP },
		"the endpoint 10.0.0.1 has the ports [-5]":    func(s *v1.Service, _ *v1.Pod) { s.Spec.Ports[0].TargetPort = intstr.FromInt32(-5) },
		"the endpoint 10.0.0.1 has the ports [70000]": func(_ *v1.Service, p *v1.Pod) { p.Spec.Containers[0].Ports[0].ContainerPort = 70000 },
		"": func(*v1.Service, *v1.Pod) {},
		"spec.clusterIP ::ffff:10.96.1.1 is not in 10.96.0.0/16": func(s *v1.Service, _ *v1.Pod) { s.Spec.ClusterIP = "::ffff:10.96.1.1" },
	} {
		s, p := service("web", nodePort), readyPod("web-1", "web", "10.0.0.1")
		change(s, p)
		got := Build([]Input{{Services: []*v1.Service{s, service("z", func(s *v1.Service) { s.Spec.ClusterIP = "10.96.1.2" })}, Pods: []*v1.Pod{p}}}, DefaultRange, "node")
		if got[0].Problem != want || got[1].Problem != "" {
			t.Errorf("problems %q, %q, want %q of the first", got[0].Problem, got[1].Problem, want)
		}
	}
}

// TestTooLargeServicesAreNotServed: what others are served stays, and of those that are new the small ones are first.
func TestTooLargeServicesAreNotServed(t *testing.T) {
	at := func(n int) func(*v1.Service) {
		return func(s *v1.Service) { s.Spec.ClusterIP = fmt.Sprintf("10.96.2.%d", n) }
	}
	ports := func(n int) func(*v1.Service) {
		return func(s *v1.Service) {
			s.Spec.Ports = nil
			for i := range n {
				s.Spec.Ports = append(s.Spec.Ports, v1.ServicePort{Name: fmt.Sprint("p", i), Protocol: v1.ProtocolTCP, Port: int32(1 + i)})
			}
		}
	}
	slice := func(name string, endpoints int) *discoveryv1.EndpointSlice {
		s := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Labels: map[string]string{discoveryv1.LabelServiceName: name}}}
		for i := range endpoints {
			s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{fmt.Sprintf("10.1.%d.%d", i/250, i%250)}})
		}
		return s
	}
	outside := func(s *v1.Service) { s.Spec.Selector = nil }
	sticky := func(s *v1.Service) { s.Spec.SessionAffinity = v1.ServiceAffinityClientIP }
	in := Input{
		Services: []*v1.Service{
			service("affinity", outside, at(1), sticky), service("endpoints", outside, at(2)), service("most", outside, at(3)),
			service("labels", at(4), func(s *v1.Service) {
				for i := range 20000 {
					s.Spec.Selector[fmt.Sprint(i)] = ""
				}
			}),
			service("ports", outside, at(5), ports(maxPorts+1)), service("small", outside, at(6), ports(2)), service("headless", outside, headless, ports(0)),
		},
		Slices: []*discoveryv1.EndpointSlice{
			slice("affinity", 2001), slice("endpoints", maxEndpoints+1), slice("most", maxEndpoints), slice("ports", 10),
			slice("small", 10), slice("headless", 10),
		},
	}
	for i := range 20000 {
		in.Slices[5].Ports = append(in.Slices[5].Ports, discoveryv1.EndpointPort{Name: new(fmt.Sprint("p", i)), Port: new(int32(1 + i))})
	}
	problems := func(before ...Service) map[string]string {
		found := map[string]string{}
		for _, s := range Build([]Input{in}, DefaultRange, "node", before...) {
			if found[s.Name] = s.Problem; s.Problem != "" && len(s.Endpoints) > 0 {
				t.Errorf("%s has %d endpoints", s.Name, len(s.Endpoints))
			}
		}
		return found
	}
	want := map[string]string{
		"affinity":  "its backends count as 10009, those of other Services as 5080: up to 10000 are served",
		"endpoints": "it has 5001 endpoints: up to 5000 are served",
		"labels":    "it has more than 100 ports, or labels in its selector", "ports": "it has more than 100 ports, or labels in its selector", "headless": "it has more than 100 ports, or labels in its selector",
		"most": "", "small": "", "grown": "",
	}
	in.Services = append(in.Services, service("grown", outside, at(7), ports(2)))
	in.Slices = append(in.Slices, slice("grown", 10+10))
	if got := problems(); !maps.Equal(got, want) {
		t.Errorf("problems %v, want %v", got, want)
	}
	in.Slices[len(in.Slices)-1] = slice("grown", 2600) // 5,208, with most above the bound
	if got := problems(); got["grown"] == "" || got["most"] != "" {
		t.Errorf("the largest is served: %v", got)
	}
	if got := problems(Service{Namespace: "default", Name: "grown"}); got["grown"] != "" || got["most"] == "" {
		t.Errorf("a Service that was served is not: %v", got)
	}
}

// TestServicesAboveTheirNumberAreNotServed: a Service that was served is, whatever others come.
func TestServicesAboveTheirNumberAreNotServed(t *testing.T) {
	var in Input
	for i := range maxServices + 1 {
		name := fmt.Sprintf("s%05d", i)
		in.Services = append(in.Services, service(name, func(s *v1.Service) { s.Spec.Selector, s.Spec.ClusterIP = nil, fmt.Sprintf("10.96.%d.%d", i/250, i%250) }))
		in.Slices = append(in.Slices, &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Labels: map[string]string{discoveryv1.LabelServiceName: name}}})
	}
	first := Build([]Input{in}, DefaultRange, "node")
	if want := "there are 5001 Services: up to 5000 are served"; first[maxServices].Problem != want || first[maxServices-1].Problem != "" {
		t.Errorf("problems %q, %q, want %q of the last", first[maxServices-1].Problem, first[maxServices].Problem, want)
	}
	if got := Build([]Input{in}, DefaultRange, "node", Service{Namespace: "default", Name: "s05000"}); got[maxServices].Problem != "" || got[maxServices-1].Problem == "" {
		t.Errorf("problems %q, %q, want one of the new Service", got[maxServices-1].Problem, got[maxServices].Problem)
	}
}

// TestPartAboveTheBoundIsNotWritten: the other processes would not read it.
func TestPartAboveTheBoundIsNotWritten(t *testing.T) {
	h := newHost(t)
	var log strings.Builder
	m := NewManager(Options{Dir: h.dir, Process: Process{ID: "1"}, Log: slog.New(slog.NewTextHandler(&log, nil))})
	large := service("web", func(s *v1.Service) { s.Spec.ExternalName = strings.Repeat("x", maxPart) })
	m.write(&part{Input: Input{Services: []*v1.Service{large}}})
	if len(h.files()) > 0 || !strings.Contains(log.String(), "the others read") {
		t.Errorf("files %v, log %q", h.files(), log.String())
	}
}
