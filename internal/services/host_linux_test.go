package services

import (
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vishvananda/netlink"
	"sigs.k8s.io/knftables"

	"github.com/podctl/podctl/internal/sys/proc"
)

// TestServersOfClustersAreFound: a kube-proxy of this network namespace, not that of a node in a container.
func TestServersOfClustersAreFound(t *testing.T) {
	for name, c := range map[string]struct{ comm, net, uid, want string }{
		"kube-proxy":         {"kube-proxy", "net:[1]", "0", "kube-proxy (pid 7)"},
		"of another network": {"kube-proxy", "net:[2]", "0", ""},
		"another program":    {"httpd", "net:[1]", "0", ""},
		"of another user":    {"kube-proxy", "net:[1]", "1000", ""},
	} {
		dir := t.TempDir()
		for pid, p := range map[string][3]string{"5": {"podctl", "net:[1]", "0"}, "7": {c.comm, c.net, c.uid}} {
			if err := os.MkdirAll(filepath.Join(dir, pid, "ns"), 0o755); err != nil {
				t.Fatal(err)
			}
			for file, content := range map[string]string{"comm": p[0] + "\n", "stat": pid + " (" + p[0] + ") S" + strings.Repeat(" 1", 40), "status": "Uid:\t" + p[2] + "\t0\t0\t0\n"} {
				if err := os.WriteFile(filepath.Join(dir, pid, file), []byte(content), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Symlink(p[1], filepath.Join(dir, pid, "ns", "net")); err != nil {
				t.Fatal(err)
			}
		}
		err := findServer(proc.FS(dir), 5)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestStaleFlows: a UDP flow is forgotten whose endpoint is no longer behind the Service, and no other one.
func TestStaleFlows(t *testing.T) {
	f := staleFlows{
		in: DefaultRange, live: map[string]bool{flowKey("10.96.0.9", 53, "10.0.0.1", 5353): true, flowKey("", 53, "10.0.0.1", 5353): true},
		before: map[string]bool{flowKey("", 53, "10.0.0.1", 5353): true, flowKey("", 53, "10.0.0.2", 5353): true},
	}
	flow := func(protocol uint8, to string, endpoint string) *netlink.ConntrackFlow {
		return &netlink.ConntrackFlow{
			Forward: netlink.IPTuple{Protocol: protocol, DstIP: net.ParseIP(to), DstPort: 53},
			Reverse: netlink.IPTuple{SrcIP: net.ParseIP(endpoint), SrcPort: 5353},
		}
	}
	for _, c := range []struct {
		flow  *netlink.ConntrackFlow
		stale bool
	}{
		{flow(17, "10.96.0.9", "10.0.0.1"), false},
		{flow(17, "10.96.0.9", "10.0.0.2"), true},
		{flow(6, "10.96.0.9", "10.0.0.2"), false},
		{flow(17, "192.0.2.53", "192.0.2.53"), false},
		{flow(17, "192.0.2.53", "10.0.0.1"), false}, // at a node port
		{flow(17, "192.0.2.53", "10.0.0.2"), true},
		{flow(17, "192.0.2.53", "10.0.0.3"), false}, // of another table
	} {
		if f.MatchConntrackFlow(c.flow) != c.stale {
			t.Errorf("%+v: stale %v, want %v", c.flow, !c.stale, c.stale)
		}
	}
}

// TestInterfacesOverDevicesLeadToOtherHosts: a bridge of pods is over none.
func TestInterfacesOverDevicesLeadToOtherHosts(t *testing.T) {
	links := t.TempDir()
	for _, path := range []string{"eth0/device", "cni0/lower_veth1", "veth1", "br0/lower_bond0", "bond0/lower_eth0", "lo"} {
		if err := os.MkdirAll(filepath.Join(links, path), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]bool{"eth0": true, "br0": true, "cni0": false, "veth1": false, "lo": false, "gone": false} {
		if got := isOnHardware(links, name); got != want {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
	if !isOfHost(netip.MustParseAddr("127.0.0.1")) || isOfHost(netip.MustParseAddr("203.0.113.9")) {
		t.Error("the host is not its own, or an address of documentation is")
	}
}

// TestRangeThatOverlapsARouteIsRefused: of the host's networks, or of its pods' bridge.
func TestRangeThatOverlapsARouteIsRefused(t *testing.T) {
	for route, want := range map[string]string{"10.96.7.0/24": "overlaps the route", "10.0.0.0/8": "overlaps the route", "10.88.0.0/16": "", "0.0.0.0/0": ""} {
		_, dst, err := net.ParseCIDR(route)
		if err != nil {
			t.Fatal(err)
		}
		err = findRoute([]netlink.Route{{}, {Dst: dst}}, DefaultRange)
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", route, err, want)
		}
	}
}

// TestMissingNftIsSaid: as what it is, with what to install.
func TestMissingNftIsSaid(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := knftables.New(knftables.IPv4Family, TableName)
	if err = nftError(err); err == nil || err.Error() != "nft is not installed" {
		t.Error(err)
	}
}
