package host

import (
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/podctl/podctl/internal/node/render"
)

// ReadFacts reads what rendering needs to know about this machine. podsDir and
// logDir are podctl's own settings and are copied into the result.
func ReadFacts(podsDir, logDir, seccompDir string) (*render.Node, error) {
	n := &render.Node{PodsDir: podsDir, LogDir: logDir, SeccompDir: seccompDir, StopSignals: true}
	n.Name = Name()
	if n.Name == "" {
		return nil, errors.New("read node facts: this machine has no host name")
	}
	var err error
	if n.IPs, err = nodeIPs(); err != nil {
		return nil, fmt.Errorf("read node facts: %w", err)
	}
	if n.DNS, err = (Resolver{}).Read(n.IPs); err != nil {
		return nil, err
	}
	return n, readMachine(n)
}

// Name returns the name of this machine's node, "" if it has none.
func Name() string {
	name, err := os.Hostname()
	if err != nil {
		return ""
	}
	return strings.ToLower(name)
}

// LacksSELinux reports whether the kernel runs without SELinux. It is known in a container, too,
// which does not see SELinux' own file system; not where there is no /proc.
func LacksSELinux() bool {
	known, err := os.ReadFile("/proc/filesystems")
	return err == nil && !strings.Contains(string(known), "\tselinuxfs\n")
}

// nodeIPs returns the address of the default route, and one of the other family
// if there is any; without a route, the first address that is not a loopback
// address, and without that the loopback address, so that a pod of the host
// network always has one.
func nodeIPs() ([]string, error) {
	var ips []string
	for _, probe := range [...]struct{ network, to string }{{"udp4", "192.0.2.1:9"}, {"udp6", "[2001:db8::1]:9"}} {
		// Connecting a UDP socket sends nothing: it only picks a route.
		conn, err := net.Dial(probe.network, probe.to)
		if err != nil {
			continue
		}
		if addr, ok := conn.LocalAddr().(*net.UDPAddr); ok && addr.IP.IsGlobalUnicast() {
			ips = append(ips, addr.IP.String())
		}
		_ = conn.Close() // nothing was sent
	}
	if len(ips) > 0 {
		return ips, nil
	}
	addrs, err := net.InterfaceAddrs()
	if err != nil {
		return nil, err
	}
	for _, addr := range addrs {
		if ip, ok := addr.(*net.IPNet); ok && ip.IP.IsGlobalUnicast() {
			return []string{ip.IP.String()}, nil
		}
	}
	return []string{"127.0.0.1"}, nil
}
