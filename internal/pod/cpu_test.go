package pod

import (
	"testing"

	v1 "k8s.io/api/core/v1"
)

func TestCPUSharesAndQuotaLimits(t *testing.T) {
	for _, c := range []struct{ milli, shares, quota int64 }{
		{0, 2, 0},
		{1, 2, 1000},
		{2, 2, 1000},
		{10, 10, 1000},
		{11, 11, 1100},
		{250, 256, 25000},
		{1000, 1024, 100000},
		{1500, 1536, 150000},
		{256000, 262144, 25600000},
		{1000000, 262144, 100000000},
	} {
		if shares, quota := CPUShares(c.milli), CPUQuota(c.milli); shares != c.shares || quota != c.quota {
			t.Errorf("%dm: %d shares, quota %d; want %d and %d", c.milli, shares, quota, c.shares, c.quota)
		}
	}
}

func TestHugepageSize(t *testing.T) {
	for name, want := range map[v1.ResourceName]int64{"hugepages-2Mi": 2 << 20, "hugepages-1Gi": 1 << 30, "hugepages-x": 0, "cpu": 0, "memory": 0} {
		if size, ok := HugepageSize(name); size != want || ok != (want != 0) {
			t.Errorf("%s: %d, %v; want %d", name, size, ok, want)
		}
	}
}
