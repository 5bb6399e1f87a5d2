package cgroup

import (
	"github.com/opencontainers/cgroups"
	"github.com/opencontainers/cgroups/fs2"

	"github.com/podctl/podctl/internal/pod"
)

// PSI reads how much the tasks of the cgroup of a path, and of those below it, waited for
// CPU, memory and I/O.
func (t *Tree) PSI(group string) pod.PSI {
	if !t.unified {
		return pod.PSI{Unknown: "cgroup v1 has no PSI"}
	}
	// With an error, what could be read is there.
	m, err := fs2.NewManager(&cgroups.Cgroup{}, t.File(group, "", ""))
	if err != nil {
		return pod.PSI{Unknown: err.Error()}
	}
	s, _ := m.Stats(&cgroups.StatsOptions{Controllers: cgroups.CPU | cgroups.Memory | cgroups.IO})
	psi := pod.PSI{CPU: stall(s.CpuStats.PSI), Memory: stall(s.MemoryStats.PSI), IO: stall(s.BlkioStats.PSI)}
	if psi == (pod.PSI{}) {
		psi.Unknown = "the kernel keeps no PSI of the cgroup: see the boot option psi=1"
	}
	return psi
}

func stall(s *cgroups.PSIStats) *pod.Stall {
	if s == nil {
		return nil
	}
	return &pod.Stall{Some: s.Some.Avg10, Full: s.Full.Avg10}
}
