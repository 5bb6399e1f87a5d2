package cgroup

import (
	"testing"

	"github.com/opencontainers/cgroups"
)

// What this machine cannot show, for it has one version and no systemd: the
// library is asked for the same limits in the terms of either version, by
// slices as by directories (toResources in pkg/kubelet/cm/cgroup_manager_linux.go).
func TestLimitsPerCgroupVersion(t *testing.T) {
	l := Limits{CPUShares: 512, CPUQuota: 50000, CPUPeriod: 100000, Memory: 64 << 20}
	for _, driver := range []Driver{Cgroupfs, Systemd} {
		v1 := &Manager{root: "kubepods", driver: driver}
		v2 := &Manager{root: "kubepods", driver: driver, unified: true}
		same := cgroups.Resources{SkipDevices: true, SkipFreezeOnSet: true, CpuQuota: 50000, CpuPeriod: 100000, Memory: 64 << 20}
		onV1, onV2 := same, same
		onV1.CpuShares, onV2.CpuWeight = 512, 20
		diff(t, "v1", &onV1, v1.resources(l, nil))
		diff(t, "v2", &onV2, v2.resources(l, nil))
		none := &cgroups.Resources{SkipDevices: true, SkipFreezeOnSet: true}
		diff(t, "v1, no limits", none, v1.resources(Limits{}, nil))
		diff(t, "v2, no limits", none, v2.resources(Limits{}, nil))
	}
}

func TestSlicePath(t *testing.T) {
	m := &Manager{root: "podctl-ab", driver: Systemd}
	for _, tt := range []struct {
		n    name
		want string
	}{
		{name{m.root}, "/podctl_ab.slice"},
		{name{m.root, burstable}, "/podctl_ab.slice/podctl_ab-burstable.slice"},
		{name{m.root, burstable, "pod0-1"}, "/podctl_ab.slice/podctl_ab-burstable.slice/podctl_ab-burstable-pod0_1.slice"},
	} {
		diff(t, "slice", tt.want, tt.n.path(m.driver))
	}
}
