package stream

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"

	"github.com/podctl/podctl/internal/sys/hint"
	"github.com/podctl/podctl/internal/sys/safeurl"
)

// maxURL bounds the URL of a runtime, in bytes; containerd's and CRI-O's have 50.
const maxURL = 4096

// checkURL parses a URL that the runtime returned. Only http and https to an
// address of this host are accepted: the runtime has a local socket, and so has
// its streaming server. local reports whether an address is one of this host.
func checkURL(text string, local func(netip.Addr) bool) (*url.URL, error) {
	wrong := func(problem string) (*url.URL, error) {
		return nil, fmt.Errorf("the runtime returned the streaming URL %q: %s", safeurl.Text(text[:min(len(text), 200)]), problem)
	}
	if len(text) > maxURL {
		return wrong(fmt.Sprintf("longer than %d bytes", maxURL))
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return wrong("not a URL")
	case u.Scheme != "http" && u.Scheme != "https":
		return wrong("neither http nor https")
	case u.Port() == "":
		return wrong("no port")
	case u.User != nil:
		return wrong("it has a user")
	case u.Hostname() == "localhost":
		return u, nil
	}
	addr, err := netip.ParseAddr(u.Hostname())
	if err != nil {
		return wrong("its host is not an IP address")
	}
	addr = addr.Unmap()
	if addr.IsLoopback() || addr.IsUnspecified() || local(addr) {
		return u, nil
	}
	return nil, hint.Errorf("let the runtime serve streams at 127.0.0.1: stream_server_address of containerd, stream_address of CRI-O",
		"the runtime returned the streaming URL %q: not an address of this host", safeurl.Text(text))
}

// isLocalAddr reports whether a network interface has the address.
func isLocalAddr(addr netip.Addr) bool {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return false
	}
	for _, a := range all {
		if prefix, err := netip.ParsePrefix(a.String()); err == nil && prefix.Addr().Unmap() == addr.WithZone("") {
			return true
		}
	}
	return false
}
