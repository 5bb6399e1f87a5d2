package cgroup

import (
	"os"
	"path/filepath"

	"github.com/opencontainers/cgroups"
)

const mountPoint = "/sys/fs/cgroup"

// ReadFacts reads the machine.
func ReadFacts() Facts {
	unified := cgroups.IsCgroup2UnifiedMode()
	return Facts{
		Unified:        unified,
		SwapController: hasSwapController(unified),
		HugePageSizes:  cgroups.HugePageSizes(),
	}
}

// hasSwapController looks for the file that limits swap; the root of v2 has
// none, so podctl's own cgroup is asked (checkSwapControllerAvailability in
// pkg/kubelet/kuberuntime/kuberuntime_container_linux.go).
func hasSwapController(unified bool) bool {
	file := filepath.Join(mountPoint, "memory", "memory.memsw.limit_in_bytes")
	if unified {
		own, err := cgroups.ParseCgroupFile("/proc/self/cgroup")
		if err != nil {
			return false
		}
		file = filepath.Join(mountPoint, own[""], "memory.swap.max")
	}
	_, err := os.Stat(file)
	return err == nil
}
