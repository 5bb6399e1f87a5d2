package services

import (
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
	// maxRecords bounds an answer, which is truncated there, and the addresses beside it.
	maxRecords = 1000
	// schemaVersion is that of https://github.com/kubernetes/dns/blob/master/docs/specification.md.
	schemaVersion = "1.1.0"
)

// Zone answers queries about Services and pods, as the specification of Kubernetes' DNS has them. It is not
// changed once it is made.
type Zone struct {
	// records are those of each name that exists, in lower case; some names have none.
	records map[string][]dns.RR
	pods    map[string]bool // by address
	in      netip.Prefix
}

// PodAddress is what a Zone needs of a pod: the namespace of its name, and the address from which it asks.
type PodAddress struct {
	Namespace string
	Address   string // "" before it has one
}

// NewZone returns the zone of Services whose addresses are in a range. Pods have names in the namespaces
// of Services and of those that are given.
func NewZone(all []Service, in netip.Prefix, pods []PodAddress) *Zone {
	z := &Zone{records: map[string][]dns.RR{}, pods: map[string]bool{}, in: in}
	z.add(clusterDomain, authority)
	z.add("dns-version."+clusterDomain, &dns.TXT{Hdr: header(dns.TypeTXT), Txt: []string{schemaVersion}})
	z.addNamespace("")
	for _, p := range pods {
		z.pods[p.Address] = true
		z.addNamespace(p.Namespace + ".")
	}
	for i := range all {
		if s := &all[i]; s.Problem == "" {
			z.addNamespace(s.Namespace + ".")
			z.addService(s, s.Name+"."+s.Namespace+".svc."+clusterDomain)
		}
	}
	return z
}

// add adds records to a name, which exists from then on.
func (z *Zone) add(name string, records ...dns.RR) {
	name = strings.ToLower(name)
	z.records[name] = append(z.records[name], records...)
}

func (z *Zone) addNamespace(prefix string) {
	z.add(prefix + "svc." + clusterDomain)
	z.add(prefix + "pod." + clusterDomain)
}

func (z *Zone) addService(s *Service, name string) {
	if s.Type == v1.ServiceTypeExternalName {
		z.add(name, &dns.CNAME{Hdr: header(dns.TypeCNAME), Target: dns.Fqdn(s.ExternalName)})
		return
	}
	if !s.Headless() {
		z.addAddress(name, s.Address)
		for _, p := range s.Ports {
			z.addPort(p, name, name, s.Address, p.Port)
		}
	}
	for _, e := range s.Endpoints {
		if !e.Ready {
			continue
		}
		host := e.label() + "." + name
		z.addAddress(host, e.Address)
		if !s.Headless() {
			continue
		}
		z.add(name, addressRecord(e.Address))
		for i, p := range s.Ports {
			if e.Ports[i] != 0 {
				z.addPort(p, name, host, e.Address, e.Ports[i])
			}
		}
	}
}

// addAddress adds the address of a name, and the name of the address.
func (z *Zone) addAddress(name, of string) {
	z.add(name, addressRecord(of))
	if reverse, err := dns.ReverseAddr(of); err == nil {
		z.add(reverse, &dns.PTR{Hdr: header(dns.TypePTR), Ptr: name})
	}
}

// addPort adds where a port of a Service is.
func (z *Zone) addPort(p Port, service, target, address string, number int32) {
	srv := &dns.SRV{Hdr: header(dns.TypeSRV), Port: uint16(number), Target: target}
	z.add(service, srv)
	z.add("_"+p.Name+"._"+string(p.Protocol)+"."+service, srv, addressRecord(address))
	if target != service {
		z.add(target, srv)
	}
}

// label returns the DNS label of the endpoint below the name of its Service.
func (e Endpoint) label() string {
	if e.Hostname != "" {
		return e.Hostname
	}
	return strings.ReplaceAll(e.Address, ".", "-")
}

// answer answers a query with the records of the asked type or that of an alias, and the addresses of what SRV records
// name. It returns nil where the name is not the zone's to know.
func (z *Zone) answer(q dns.Question) *dns.Msg {
	name := strings.ToLower(q.Name)
	records, exists := z.records[name]
	if !exists {
		records = z.podRecords(name)
		exists = records != nil
	}
	if q.Qclass != dns.ClassINET || !exists && !dns.IsSubDomain(clusterDomain, name) && !z.in.Contains(reversed(name)) {
		return nil
	}
	msg := &dns.Msg{MsgHdr: dns.MsgHdr{Authoritative: true}}
	if !exists {
		msg.Rcode = dns.RcodeNameError
	}
	for _, r := range records {
		if len(msg.Answer) == maxRecords {
			msg.Truncated = true
			break
		}
		if kind := r.Header().Rrtype; kind == q.Qtype || kind == dns.TypeCNAME || q.Qtype == dns.TypeANY {
			msg.Answer = append(msg.Answer, named(q.Name, r))
		}
	}
	msg.Answer = slices.CompactFunc(msg.Answer, dns.IsDuplicate) // of an address with ports of several EndpointSlices
	targets := map[string]bool{}
	for _, r := range msg.Answer {
		if srv, is := r.(*dns.SRV); is {
			srv.Weight = uint16(max(100/len(msg.Answer), 1))
			if !targets[srv.Target] && len(msg.Extra) < maxRecords {
				targets[srv.Target] = true
				msg.Extra = append(msg.Extra, z.answer(dns.Question{Name: srv.Target, Qtype: dns.TypeA, Qclass: q.Qclass}).Answer...)
			}
		}
	}
	if len(msg.Answer) == 0 {
		msg.Ns = []dns.RR{named(clusterDomain, authority)}
	}
	return msg
}

// podRecords returns the address in a name such as 10-0-0-1.NAMESPACE.pod.cluster.local.
func (z *Zone) podRecords(name string) []dns.RR {
	host, parent, _ := strings.Cut(name, ".")
	addr, err := netip.ParseAddr(strings.ReplaceAll(host, "-", "."))
	if _, exists := z.records[parent]; !exists || err != nil || !addr.Is4() || !strings.HasSuffix(parent, ".pod."+clusterDomain) {
		return nil
	}
	return []dns.RR{addressRecord(addr.String())}
}

// reversed returns the address that a name below in-addr.arpa has, the zero Addr for another name.
func reversed(name string) netip.Addr {
	labels := strings.Split(strings.TrimSuffix(name, ".in-addr.arpa."), ".")
	slices.Reverse(labels)
	addr, err := netip.ParseAddr(strings.Join(labels, "."))
	if err != nil || !strings.HasSuffix(name, ".in-addr.arpa.") {
		return netip.Addr{}
	}
	return addr
}

// named returns a copy of a record with its name.
func named(name string, r dns.RR) dns.RR {
	r = dns.Copy(r)
	r.Header().Name = name
	return r
}

func addressRecord(text string) dns.RR { return &dns.A{Hdr: header(dns.TypeA), A: net.ParseIP(text)} }

func header(kind uint16) dns.RR_Header {
	return dns.RR_Header{Rrtype: kind, Class: dns.ClassINET, Ttl: recordTTL}
}

// authority is the zone's own record, which says for how long a name is known to be missing.
var authority = &dns.SOA{
	Hdr: header(dns.TypeSOA), Ns: "ns.dns." + clusterDomain, Mbox: "hostmaster." + clusterDomain,
	Serial: 1, Refresh: 7200, Retry: 1800, Expire: 86400, Minttl: recordTTL,
}
