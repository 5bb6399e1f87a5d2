package pod

import (
	"slices"
	"testing"
)

func TestPodIPsOnePerFamily(t *testing.T) {
	found := []string{"bad", "fd00::2", "10.0.0.2", "::ffff:10.0.0.3", "fd00:0::3"}
	for _, c := range []struct{ node, want []string }{
		{nil, []string{"10.0.0.2", "fd00::2"}},
		{[]string{"192.0.2.1", "2001:db8::1"}, []string{"10.0.0.2", "fd00::2"}},
		{[]string{"2001:db8::1"}, []string{"fd00::2", "10.0.0.2"}},
	} {
		if got := OrderIPs(found, c.node); !slices.Equal(got, c.want) {
			t.Errorf("on a node with %v: %v; want %v", c.node, got, c.want)
		}
	}
}
