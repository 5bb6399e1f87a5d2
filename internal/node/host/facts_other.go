//go:build !linux

package host

import (
	"runtime"

	"github.com/podctl/podctl/internal/node/render"
)

// readMachine: off Linux only the simulated runtime is driven, so the
// machine is a made-up one of 8 GiB.
func readMachine(n *render.Node) error {
	n.MemoryCapacity = 8 << 30
	n.Allocatable = render.Allocatable(runtime.NumCPU(), n.MemoryCapacity, 0)
	n.CgroupV2 = true
	return nil
}
