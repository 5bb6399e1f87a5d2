package daemon

import (
	"net/netip"
	"testing"

	"github.com/podctl/podctl/internal/services"
)

// TestMachineInTheRangeMayBeAHostIP: Services are not served there.
func TestMachineInTheRangeMayBeAHostIP(t *testing.T) {
	if got := serviceAddresses(services.DefaultRange, []string{"192.0.2.1", "fd00::1"}); len(got) != 2 || got[0] != services.DefaultRange {
		t.Errorf("addresses of Services %v", got)
	}
	if got := serviceAddresses(services.DefaultRange, []string{"10.96.0.7"}); got != nil {
		t.Errorf("the machine is in the range, and %v are refused", got)
	}
	if got := serviceAddresses(netip.Prefix{}, nil); got != nil {
		t.Errorf("there are no Services, and %v are refused", got)
	}
}
