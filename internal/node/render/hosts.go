package render

import (
	"bytes"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
)

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
