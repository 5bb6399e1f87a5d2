package target

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pods/view"
	"github.com/podctl/podctl/internal/sys/hint"
)

// Addresses are those of a pod.
type Addresses struct {
	Pod         *view.Pod
	IPs         []string
	HostNetwork bool
}

// parseIP reads an address in any spelling. An IPv4 address that is mapped to IPv6 is the
// same one.
func parseIP(text string) (netip.Addr, error) {
	addr, err := netip.ParseAddr(strings.Trim(text, "[]"))
	return addr.Unmap().WithZone(""), err
}

// findByIP returns the pod that has an address. node are the addresses of the node, which its
// pods with hostNetwork share.
func findByIP(pods []Addresses, node []netip.Addr, ip netip.Addr) (Target, error) {
	var found []*view.Pod
	var sharing []string
	for _, p := range pods {
		has := func(text string) bool { other, err := parseIP(text); return err == nil && other == ip }
		switch {
		case p.HostNetwork:
			sharing = append(sharing, p.Pod.CLIName())
		case slices.ContainsFunc(p.IPs, has):
			found = append(found, p.Pod)
		}
	}
	switch {
	case len(found) == 1:
		return Target{Pod: found[0]}, nil
	case len(found) > 1:
		return Target{}, ambiguous("ip:"+ip.String(), cliNames(found))
	case !slices.Contains(node, ip):
		return Target{}, hint.Errorf("podctl pods lists their addresses", "no pod that runs has the address %s", ip)
	case len(sharing) == 0:
		return Target{}, fmt.Errorf("%s is an address of the node, and of no pod", ip)
	}
	return Target{}, hint.With(fmt.Errorf("%s is an address of the node, which its pods with hostNetwork share: %s", ip, list(sharing)),
		"ss -lntup shows which process listens on a port, and pid:PID is its pod")
}

// Port is a host port. Protocol is "" for any.
type Port struct {
	Number   int32
	Protocol v1.Protocol
}

// parsePort reads NUMBER or NUMBER/PROTOCOL.
func parsePort(text string) (Port, error) {
	number, protocol, given := strings.Cut(text, "/")
	n, err := strconv.ParseUint(number, 10, 16)
	p := Port{int32(n), v1.Protocol(strings.ToUpper(protocol))}
	if err != nil || n == 0 || given && !slices.Contains([]v1.Protocol{v1.ProtocolTCP, v1.ProtocolUDP, v1.ProtocolSCTP}, p.Protocol) {
		return p, fmt.Errorf("%q is not a port: 8080, or 53/udp", text)
	}
	return p, nil
}

func (p Port) String() string {
	if p.Protocol == "" {
		return strconv.Itoa(int(p.Number))
	}
	return fmt.Sprintf("%d/%s", p.Number, p.Protocol)
}

// mappedPod are the host ports that the runtime forwards to a pod.
type mappedPod struct {
	Pod   *view.Pod
	Ports []v1.ContainerPort
}

// findByMappedPort returns the pods to which the runtime forwards a host port: several if they
// have it with another protocol or address.
func findByMappedPort(pods []mappedPod, port Port) []Target {
	var found []Target
	for _, p := range pods {
		if slices.ContainsFunc(p.Ports, func(m v1.ContainerPort) bool {
			return m.HostPort == port.Number && (port.Protocol == "" || cmp.Or(m.Protocol, v1.ProtocolTCP) == port.Protocol)
		}) {
			found = append(found, Target{Pod: p.Pod})
		}
	}
	return found
}

// is reports whether two targets are the same pod and container.
func (t Target) is(other Target) bool { return t.Pod == other.Pod && t.Container == other.Container }

func cliNames(pods []*view.Pod) []string {
	var names []string
	for _, p := range pods {
		names = append(names, p.CLIName())
	}
	slices.Sort(names)
	return names
}
