package host

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/opencontainers/cgroups"
	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podctl/podctl/internal/node/render"
)

func readMachine(n *render.Node) error {
	memory, err := memTotal("/proc/meminfo")
	if err != nil {
		return fmt.Errorf("read node facts: %w", err)
	}
	n.MemoryCapacity = memory
	n.Allocatable = render.Allocatable(runtime.NumCPU(), memory, storage(n.PodsDir))
	n.HugePages = hugePages("/sys/kernel/mm/hugepages")
	n.CgroupV2 = cgroups.IsCgroup2UnifiedMode()
	n.SwapController = swapController(n.CgroupV2)
	n.SELinux = exists("/sys/fs/selinux/enforce")
	n.HugePageSizes = cgroups.HugePageSizes()
	n.ThermalThrottle, _ = filepath.Glob("/sys/devices/system/cpu/cpu*/thermal_throttle")
	return nil
}

func memTotal(path string) (int64, error) {
	f, err := os.Open(path)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var kib int64
		if n, _ := fmt.Sscanf(lines.Text(), "MemTotal: %d kB", &kib); n == 1 {
			return kib << 10, nil
		}
	}
	return 0, fmt.Errorf("%s: no MemTotal", path)
}

// storage is the size of the file system that the directory is on or, where
// it does not exist yet, that its nearest existing parent is on; 0 if that
// cannot be told.
func storage(dir string) int64 {
	for !exists(dir) && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
	}
	var fs unix.Statfs_t
	if unix.Statfs(dir, &fs) != nil {
		return 0
	}
	return int64(fs.Blocks) * fs.Bsize
}

// hugePages are the pages that a directory of the kernel's tells of, those of
// sizes that are none left out.
func hugePages(dir string) v1.ResourceList {
	entries, _ := os.ReadDir(dir) // a kernel without them has none
	list := v1.ResourceList{}
	for _, e := range entries {
		var kib, count int64
		content, err := os.ReadFile(filepath.Join(dir, e.Name(), "nr_hugepages"))
		if n, _ := fmt.Sscanf(e.Name(), "hugepages-%dkB", &kib); n != 1 || err != nil {
			continue
		}
		if n, _ := fmt.Sscan(string(content), &count); n == 1 && count > 0 {
			size := resource.NewQuantity(kib<<10, resource.BinarySI)
			list[v1.ResourceName(v1.ResourceHugePagesPrefix+size.String())] = *resource.NewQuantity(count*kib<<10, resource.BinarySI)
		}
	}
	return list
}

// swapController reports whether the kernel can limit swap by cgroup
// (getSwapControllerAvailable in pkg/kubelet/kuberuntime/kuberuntime_container_linux.go).
func swapController(v2 bool) bool {
	if !v2 {
		return exists("/sys/fs/cgroup/memory/memory.memsw.limit_in_bytes")
	}
	own, err := cgroups.ParseCgroupFile("/proc/self/cgroup")
	if err != nil {
		return false
	}
	// The root cgroup has no limits; any other one will do.
	if own[""] == "/" {
		found, _ := filepath.Glob("/sys/fs/cgroup/*/memory.swap.max")
		return len(found) > 0
	}
	return exists(filepath.Join("/sys/fs/cgroup", own[""], "memory.swap.max"))
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
