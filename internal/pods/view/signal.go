package view

import (
	"cmp"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/podctl/podctl/internal/sys/proc"
)

// The kernel's first and last real-time signals, as programs that use glibc or musl
// count them.
const (
	sigRTMin = 34
	sigRTMax = 64
)

// SignalToStop returns the signal by which the runtime asks the container to end, and its name:
// SIGTERM unless the runtime says another one. It is 0 for a name that is not known.
func (c *ContainerProcess) SignalToStop() (syscall.Signal, string) {
	name := cmp.Or(c.StopSignal, "SIGTERM")
	for prefix, from := range map[string]int{"SIGRTMIN": sigRTMin, "SIGRTMAX": sigRTMax} {
		if offset, ok := strings.CutPrefix(name, prefix); ok {
			n, _ := strconv.Atoi(offset) // "" is 0
			return syscall.Signal(from + n), name
		}
	}
	return unix.SignalNum(name), name
}

// Killed reports whether a process of the container has the stop signal pending, or
// SIGKILL.
func (c *ContainerProcess) Killed(p proc.Process) bool {
	signal, _ := c.SignalToStop()
	return p.Pending.Has(signal) || p.Pending.Has(syscall.SIGKILL)
}
