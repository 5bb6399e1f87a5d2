package services

import (
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/miekg/dns"
	v1 "k8s.io/api/core/v1"
)

const (
	// clusterDomain is the cluster's domain, below which the names of Services and pods are.
	clusterDomain = "cluster.local."
	// recordTTL is in seconds: CoreDNS's own for Services.
	recordTTL = 5
	// schemaVersion is that of https://github.com/kubernetes/dns/blob/master/docs/specification.md.
	schemaVersion = "1.1.0"
)

// Zone answers queries about Services and pods, as the specification of Kubernetes' DNS has them. It is not
// changed once it is made; nil has no names.
type Zone struct {
	services   map[string]*Service // by name.namespace
	namespaces map[string]bool
	pods       map[string]bool // by address
	// names are the names of addresses in the range or of pods.
	names map[netip.Addr][]string
	in    netip.Prefix
}

// PodAddress is what a Zone needs of a pod: the namespace of its name, and the address from which it asks.
type PodAddress struct {
	Namespace string
	Address   string // "" before it has one
}

// NewZone returns the zone of Services whose addresses are in a range. Pods have names in the namespaces
// of Services and of those that are given.
func NewZone(all []Service, in netip.Prefix, pods []PodAddress) *Zone {
	z := &Zone{services: map[string]*Service{}, namespaces: map[string]bool{}, pods: map[string]bool{}, names: map[netip.Addr][]string{}, in: in}
	for _, p := range pods {
		z.namespaces[p.Namespace], z.pods[p.Address] = true, true
	}
	name := func(address, text string) {
		if addr, err := netip.ParseAddr(address); err == nil {
			z.names[addr] = append(z.names[addr], text)
		}
	}
	for i := range all {
		s := &all[i]
		if s.Problem != "" {
			continue
		}
		of := s.Name + "." + s.Namespace
		z.services[of], z.namespaces[s.Namespace] = s, true
		full := of + ".svc." + clusterDomain
		if !s.Headless() {
			name(s.Address, full)
			continue
		}
		for _, e := range s.Endpoints {
			if e.Ready {
				name(e.Address, e.label()+"."+full)
			}
		}
	}
	return z
}

// label returns the DNS label of the endpoint below the name of its Service.
func (e Endpoint) label() string {
	if e.Hostname != "" {
		return strings.ToLower(e.Hostname)
	}
	return strings.ReplaceAll(e.Address, ".", "-")
}

// reply is an answer of a Zone.
type reply struct {
	// code is dns.RcodeSuccess or dns.RcodeNameError.
	code          int
	answer, extra []dns.RR
	// alias is the name outside of the zone, whose addresses complete the answer; "" for none.
	alias string
}

// answer answers a query, or returns false where the name is not the zone's to know.
func (z *Zone) answer(q dns.Question) (reply, bool) {
	name := strings.ToLower(q.Name)
	if q.Qclass != dns.ClassINET {
		return reply{}, false
	}
	if strings.HasSuffix(name, ".in-addr.arpa.") {
		return z.reverse(q, name)
	}
	if name != clusterDomain && !strings.HasSuffix(name, "."+clusterDomain) {
		return reply{}, false
	}
	labels := dns.SplitDomainName(strings.TrimSuffix(name, clusterDomain))
	missing := reply{code: dns.RcodeNameError}
	n := len(labels)
	switch {
	case n == 0, n == 1 && (labels[0] == "svc" || labels[0] == "pod"):
		return reply{}, true
	case n == 1 && labels[0] == "dns-version":
		if q.Qtype == dns.TypeTXT {
			return reply{answer: []dns.RR{&dns.TXT{Hdr: header(q.Name, dns.TypeTXT), Txt: []string{schemaVersion}}}}, true
		}
		return reply{}, true
	case n < 2 || !z.namespaces[labels[n-2]]:
		return missing, true
	case n == 2 && (labels[1] == "svc" || labels[1] == "pod"):
		return reply{}, true
	case labels[n-1] == "pod" && n == 3:
		addr, err := netip.ParseAddr(strings.ReplaceAll(labels[0], "-", "."))
		if err != nil || !addr.Is4() {
			return missing, true
		}
		return reply{answer: addresses(q, []string{addr.String()})}, true
	case labels[n-1] != "svc":
		return missing, true
	}
	s := z.services[labels[n-3]+"."+labels[n-2]]
	if s == nil {
		return missing, true
	}
	switch n {
	case 3:
		return z.service(q, s), true
	case 4:
		return z.hostname(q, s, labels[0]), true
	case 5:
		return z.port(q, s, labels[0], labels[1]), true
	}
	return missing, true
}

// service answers for a Service's own name.
func (z *Zone) service(q dns.Question, s *Service) reply {
	switch {
	case s.Type == v1.ServiceTypeExternalName:
		alias := dns.Fqdn(s.ExternalName)
		return reply{answer: []dns.RR{&dns.CNAME{Hdr: header(q.Name, dns.TypeCNAME), Target: alias}}, alias: alias}
	case q.Qtype == dns.TypeSRV:
		return z.port(q, s, "*", "*")
	case !s.Headless():
		return reply{answer: addresses(q, []string{s.Address})}
	}
	var ready []string
	for _, e := range s.Endpoints {
		if e.Ready {
			ready = append(ready, e.Address)
		}
	}
	if len(ready) == 0 {
		return reply{code: dns.RcodeNameError}
	}
	return reply{answer: addresses(q, ready)}
}

// hostname answers for an endpoint's name below that of its Service.
func (z *Zone) hostname(q dns.Question, s *Service, host string) reply {
	var found []string
	for _, e := range s.Endpoints {
		if s.Headless() && e.Ready && e.label() == host {
			found = append(found, e.Address)
		}
	}
	if len(found) == 0 {
		return reply{code: dns.RcodeNameError}
	}
	return reply{answer: addresses(q, found)}
}

// port answers for _PORT._PROTOCOL of a Service; * is any.
func (z *Zone) port(q dns.Question, s *Service, port, protocol string) reply {
	r := reply{code: dns.RcodeNameError}
	full := s.Name + "." + s.Namespace + ".svc." + clusterDomain
	add := func(target, address string, number int32) {
		r.answer = append(r.answer, &dns.SRV{Hdr: header(q.Name, dns.TypeSRV), Weight: 100, Port: uint16(number), Target: target})
		r.extra = append(r.extra, addresses(dns.Question{Name: target, Qtype: dns.TypeA}, []string{address})...)
	}
	for i, p := range s.Ports {
		if port != "*" && port != "_"+p.Name || protocol != "*" && protocol != "_"+strings.ToLower(string(p.Protocol)) {
			continue
		}
		if !s.Headless() {
			r.code = dns.RcodeSuccess
			add(full, s.Address, p.Port)
			continue
		}
		for _, e := range s.Endpoints {
			if e.Ready && e.Ports[i] != 0 {
				r.code = dns.RcodeSuccess
				add(e.label()+"."+full, e.Address, e.Ports[i])
			}
		}
	}
	if q.Qtype != dns.TypeSRV {
		r.answer, r.extra = nil, nil
	}
	return r
}

// reverse answers for addresses of Services and of pods behind headless ones.
func (z *Zone) reverse(q dns.Question, name string) (reply, bool) {
	labels := strings.Split(strings.TrimSuffix(name, ".in-addr.arpa."), ".")
	slices.Reverse(labels)
	addr, err := netip.ParseAddr(strings.Join(labels, "."))
	if err != nil || len(z.names[addr]) == 0 && !z.in.Contains(addr) {
		return reply{}, false
	}
	if len(z.names[addr]) == 0 {
		return reply{code: dns.RcodeNameError}, true
	}
	var r reply
	for _, n := range z.names[addr] {
		if q.Qtype == dns.TypePTR {
			r.answer = append(r.answer, &dns.PTR{Hdr: header(q.Name, dns.TypePTR), Ptr: n})
		}
	}
	return r, true
}

// addresses returns A records; no Service has an address of another type.
func addresses(q dns.Question, all []string) []dns.RR {
	var records []dns.RR
	for _, a := range all {
		if q.Qtype == dns.TypeA || q.Qtype == dns.TypeANY {
			records = append(records, &dns.A{Hdr: header(q.Name, dns.TypeA), A: net.ParseIP(a)})
		}
	}
	return records
}

func header(name string, kind uint16) dns.RR_Header {
	return dns.RR_Header{Name: name, Rrtype: kind, Class: dns.ClassINET, Ttl: recordTTL}
}

// authority is the zone's own record, which says for how long a name is known to be missing.
func authority() dns.RR {
	return &dns.SOA{
		Hdr: header(clusterDomain, dns.TypeSOA), Ns: fmt.Sprintf("ns.dns.%s", clusterDomain), Mbox: "hostmaster." + clusterDomain,
		Serial: 1, Refresh: 7200, Retry: 1800, Expire: 86400, Minttl: recordTTL,
	}
}
