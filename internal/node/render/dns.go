package render

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// The limits of a resolv.conf (pkg/apis/core/validation/validation.go).
const (
	maxNameservers = 3
	maxSearches    = 32
	maxSearchChars = 2048
	maxSearchName  = 253
)

// clusterDomain is what the names of Services end in.
const clusterDomain = "cluster.local"

// PodDNS returns the pod's resolv.conf: the node's (or nothing, with policy None)
// and the pod's dnsConfig, cut to what resolvers take. Each cut is a warning:
// the message of the kubelet's event DNSConfigForming (GetPodDNS in
// pkg/kubelet/network/dns/dns.go).
func PodDNS(p *v1.Pod, n *Node) (cfg *runtimeapi.DNSConfig, warnings []string) {
	var dns DNS
	switch isClusterFirst := p.Spec.DNSPolicy == v1.DNSClusterFirstWithHostNet || p.Spec.DNSPolicy == v1.DNSClusterFirst && !p.Spec.HostNetwork; {
	case p.Spec.DNSPolicy == v1.DNSNone:
	case isClusterFirst && n.DNS.Cluster != "":
		domains := []string{p.Namespace + ".svc." + clusterDomain, "svc." + clusterDomain, clusterDomain}
		dns = DNS{Servers: []string{n.DNS.Cluster}, Searches: unique(domains, n.DNS.Searches), Options: []string{"ndots:5"}}
	default:
		dns = n.DNS
	}
	if c := p.Spec.DNSConfig; c != nil {
		dns = DNS{
			Servers:  unique(dns.Servers, c.Nameservers),
			Searches: unique(dns.Searches, c.Searches),
			Options:  mergeOptions(dns.Options, c.Options),
		}
	}
	cfg = &runtimeapi.DNSConfig{Servers: dns.Servers, Options: dns.Options}
	if len(cfg.Servers) > maxNameservers {
		cfg.Servers = cfg.Servers[:maxNameservers]
		warnings = append(warnings, "Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: "+strings.Join(cfg.Servers, " "))
	}
	if cfg.Searches = fitSearches(dns.Searches); len(cfg.Searches) < len(dns.Searches) {
		warnings = append(warnings, "Search Line limits were exceeded, some search paths have been omitted, the applied search line is: "+strings.Join(cfg.Searches, " "))
	}
	return cfg, warnings
}

// unique returns a followed by b, without what was there before.
func unique(a, b []string) []string {
	var out []string
	for _, s := range slices.Concat(a, b) {
		if !slices.Contains(out, s) {
			out = append(out, s)
		}
	}
	return out
}

// mergeOptions lets the pod's options win over the node's of the same name.
func mergeOptions(node []string, pod []v1.PodDNSConfigOption) []string {
	values := map[string]string{}
	for _, option := range node {
		name, value, _ := strings.Cut(option, ":")
		values[name] = value
	}
	for _, option := range pod {
		values[option.Name] = ""
		if option.Value != nil {
			values[option.Name] = *option.Value
		}
	}
	var out []string
	for name, value := range values {
		if value != "" {
			name += ":" + value
		}
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// fitSearches keeps the domains that a resolver takes: so many, each so long,
// and the line so long; what is too much is cut from the end.
func fitSearches(searches []string) []string {
	var fit []string
	length := -1
	for _, domain := range searches[:min(len(searches), maxSearches)] {
		if len(domain) > maxSearchName {
			continue
		}
		if length += 1 + len(domain); length > maxSearchChars {
			break
		}
		fit = append(fit, domain)
	}
	return fit
}

// DNS is a parsed resolv.conf.
type DNS struct {
	Servers, Searches, Options []string
	// Cluster is the address of the DNS server that knows Services, "" for none.
	Cluster string
}

// ParseResolvConf reads the content of a resolv.conf as the kubelet does:
// nameservers add up, the last search line wins, an option wins over the
// earlier ones of its name (parseResolvConf in pkg/kubelet/network/dns/dns.go).
// Options come back sorted.
func ParseResolvConf(content []byte) (DNS, error) {
	var dns DNS
	options := map[string]string{}
	for line := range strings.Lines(string(content)) {
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		switch fields[0] {
		case "nameserver":
			if len(fields) < 2 {
				return DNS{}, errors.New("parse resolv.conf: a nameserver line has no address")
			}
			dns.Servers = append(dns.Servers, fields[1])
		case "search":
			dns.Searches = nil
			for _, domain := range fields[1:] {
				if domain != "." {
					dns.Searches = append(dns.Searches, strings.TrimSuffix(domain, "."))
				}
			}
		case "options":
			for _, option := range fields[1:] {
				name, _, _ := strings.Cut(option, ":")
				options[name] = option
			}
		}
	}
	dns.Options = slices.Sorted(maps.Values(options))
	return dns, nil
}

// hostsHead begins the file of a pod with its own network. The first line is
// what tools look for, the others are the kubelet's
// (managedHostsFileContent in pkg/kubelet/kubelet_pods.go).
const (
	hostsHead = "# Kubernetes-managed hosts file.\n" +
		"127.0.0.1\tlocalhost\n" +
		"::1\tlocalhost ip6-localhost ip6-loopback\n" +
		"fe00::0\tip6-localnet\n" +
		"fe00::0\tip6-mcastprefix\n" +
		"fe00::1\tip6-allnodes\n" +
		"fe00::2\tip6-allrouters\n"
	hostsHeadOfNode = "# Kubernetes-managed hosts file (host network).\n"
)

// Hosts returns the content of the pod's /etc/hosts. For a pod on the host network it
// is nodeHosts, the node's own file, and the aliases; for others the usual names, the
// pod under each of its IPs, and the aliases.
func Hosts(p *v1.Pod, n *Node, podIPs []string, nodeHosts []byte) ([]byte, error) {
	var b bytes.Buffer
	if p.Spec.HostNetwork {
		b.WriteString(hostsHeadOfNode)
		b.Write(nodeHosts)
		writeAliases(&b, p.Spec.HostAliases)
		return b.Bytes(), nil
	}
	name, domain, err := Hostname(p, n)
	if err != nil {
		return nil, fmt.Errorf("render hosts file: %w", err)
	}
	names := name
	if domain != "" {
		names = name + "." + domain + "\t" + name
	}
	b.WriteString(hostsHead)
	for _, ip := range podIPs {
		fmt.Fprintf(&b, "%s\t%s\n", ip, names)
	}
	writeAliases(&b, p.Spec.HostAliases)
	return b.Bytes(), nil
}

func writeAliases(b *bytes.Buffer, aliases []v1.HostAlias) {
	if len(aliases) == 0 {
		return
	}
	b.WriteString("\n# Entries added by HostAliases.\n")
	for _, alias := range aliases {
		fmt.Fprintf(b, "%s\t%s\n", alias.IP, strings.Join(alias.Hostnames, "\t"))
	}
}
