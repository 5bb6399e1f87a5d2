package services

import (
	"net"
	"testing"

	"github.com/vishvananda/netlink"
)

// TestStaleFlows: a UDP flow is forgotten whose endpoint is no longer behind the Service, and no other one.
func TestStaleFlows(t *testing.T) {
	f := staleFlows{in: DefaultRange, live: map[string]bool{flowKey("10.96.0.9", 53, "10.0.0.1", 5353): true}}
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
	} {
		if f.MatchConntrackFlow(c.flow) != c.stale {
			t.Errorf("%+v: stale %v, want %v", c.flow, !c.stale, c.stale)
		}
	}
}
