package cgroup

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/opencontainers/cgroups"
)

// resources returns the limits in the library's terms. Huge pages are limited
// where c, which may be nil, has a controller for them
// (toResources in pkg/kubelet/cm/cgroup_manager_linux.go).
func (m *Manager) resources(l Limits, c cgroups.Manager) *cgroups.Resources {
	r := &cgroups.Resources{
		SkipDevices:     true,
		SkipFreezeOnSet: true,
		CpuQuota:        l.CPUQuota,
		CpuPeriod:       l.CPUPeriod,
		Memory:          l.Memory,
	}
	if l.CPUShares > 0 {
		r.CpuShares = m.v1Only(l.CPUShares)
		r.CpuWeight = m.v2Only(weight(l.CPUShares))
	}
	if c == nil || !m.hasHugetlb(c) {
		return r
	}
	sizes := map[string]int64{}
	for _, size := range cgroups.HugePageSizes() {
		sizes[size] = l.Hugepages[pageSize(size)]
	}
	for _, size := range slices.Sorted(maps.Keys(sizes)) {
		r.HugetlbLimit = append(r.HugetlbLimit, &cgroups.HugepageLimit{Pagesize: size, Limit: uint64(sizes[size])})
	}
	return r
}

func (m *Manager) hasHugetlb(c cgroups.Manager) bool {
	if m.unified {
		return slices.Contains(controllers(Mounts), "hugetlb")
	}
	return c.GetPaths()["hugetlb"] != ""
}

func (m *Manager) v1Only(v uint64) uint64 {
	if m.unified {
		return 0
	}
	return v
}

func (m *Manager) v2Only(v uint64) uint64 {
	if m.unified {
		return v
	}
	return 0
}

// pageSize is "2MB" in bytes, 0 for what is no size.
func pageSize(s string) int64 {
	digits := strings.TrimRight(s, "BKMGTP")
	n, err := strconv.ParseInt(digits, 10, 64)
	if err != nil {
		return 0
	}
	for _, unit := range []string{"B", "KB", "MB", "GB", "TB", "PB"} {
		if s[len(digits):] == unit {
			return n
		}
		n <<= 10
	}
	return 0
}
