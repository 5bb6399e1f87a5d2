package services

import (
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"
)

// offHost is an address for documentation (RFC 5737), to which only a default route leads.
var offHost = net.IPv4(192, 0, 2, 1)

// isOfHost reports whether an address is the host's own, or directly behind an interface of it that leads to no
// other host, as pods are.
func isOfHost(client netip.Addr) bool {
	routes, err := netlink.RouteGet(client.AsSlice())
	if err != nil || len(routes) == 0 {
		return false
	}
	if routes[0].Type == unix.RTN_LOCAL {
		return true
	}
	if out, err := netlink.RouteGet(offHost); routes[0].Gw != nil || err == nil && len(out) > 0 && out[0].LinkIndex == routes[0].LinkIndex {
		return false
	}
	link, err := netlink.LinkByIndex(routes[0].LinkIndex)
	return err == nil && !isOnHardware("/sys/class/net", link.Attrs().Name)
}

// isOnHardware reports whether an interface is a device, or is over one: a bridge, a bond or a VLAN. links has a
// directory for each interface, as sysfs has them.
func isOnHardware(links, name string) bool {
	if _, err := os.Lstat(filepath.Join(links, name, "device")); err == nil {
		return true
	}
	below, _ := os.ReadDir(filepath.Join(links, name))
	for _, e := range below {
		if lower, is := strings.CutPrefix(e.Name(), "lower_"); is && lower != name && isOnHardware(links, lower) {
			return true
		}
	}
	return false
}
