package host

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"slices"

	"github.com/podctl/podctl/internal/node/render"
)

// ResolvConf is the resolver configuration that pods inherit. Where it names
// the stub of systemd-resolved, which listens in the host's network namespace
// only, pods inherit upstreamConf, as kubeadm configures the kubelet.
const (
	ResolvConf   = "/etc/resolv.conf"
	upstreamConf = "/run/systemd/resolve/resolv.conf"
	stubServer   = "127.0.0.53"
)

// Resolver reads the resolver configuration that pods inherit. The zero value
// reads the machine's.
type Resolver struct {
	// File is the file to read; nil for the machine's. An empty name disables
	// DNS lookups, as the kubelet's --resolv-conf does (pkg/kubelet/network/dns).
	File *string

	etc, upstream string // replace the constants in tests
}

// Read reads the file, or which of the machine's files is right now. Without
// /etc/resolv.conf the configuration is empty; another file has to exist.
func (r Resolver) Read(nodeIPs []string) (render.DNS, error) {
	if r.etc == "" {
		r.etc, r.upstream = ResolvConf, upstreamConf
	}
	switch {
	case r.File == nil:
		return r.machine()
	case *r.File == "":
		return disabled(nodeIPs), nil
	}
	return readResolvConf(*r.File)
}

func (r Resolver) machine() (render.DNS, error) {
	dns, err := readResolvConf(r.etc)
	if errors.Is(err, fs.ErrNotExist) {
		return render.DNS{}, nil
	}
	if err != nil || !slices.Contains(dns.Servers, stubServer) {
		return dns, err
	}
	upstream, err := readResolvConf(r.upstream)
	if errors.Is(err, fs.ErrNotExist) {
		return dns, nil
	}
	return upstream, err
}

func readResolvConf(path string) (render.DNS, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return render.DNS{}, fmt.Errorf("read resolver configuration: %w", err)
	}
	dns, err := render.ParseResolvConf(content)
	if err != nil {
		return render.DNS{}, fmt.Errorf("read resolver configuration: %s: %w", path, err)
	}
	return dns, nil
}

// disabled is a configuration with which no name is found: the pod's own
// loopback address, where no server listens.
func disabled(nodeIPs []string) render.DNS {
	dns := render.DNS{Searches: []string{"."}}
	for _, ip := range nodeIPs {
		if net.ParseIP(ip).To4() == nil {
			dns.Servers = append(dns.Servers, "::1")
		} else {
			dns.Servers = append(dns.Servers, "127.0.0.1")
		}
	}
	if len(dns.Servers) == 0 {
		dns.Servers = []string{"127.0.0.1"}
	}
	return dns
}
