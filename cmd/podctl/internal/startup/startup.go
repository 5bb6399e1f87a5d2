// Package startup sets what holds for the whole process before a command runs.
//
//	init of the packages ─► command ─► shell.Settle: garbage is collected as usual
//
// The umask is the one under which a kubelet runs, so that files and directories have the
// modes that the code names, whatever the shell of the user has: a hostPath that podctl
// creates is there for every user of a container. What names a mode that group or others
// may write to sets it again.
//
// Garbage is collected rarely while a command starts: most of what a short command
// allocates stays, and collecting it takes a quarter of its time.
//
// It takes effect when it is imported. Go initializes it, which imports the standard
// library alone, before the packages that allocate most: those of Kubernetes.
package startup

import (
	"os"
	"runtime/debug"
	"syscall"
)

const (
	// percent is the GC percentage until shell.Settle. GOGC overrides it.
	percent = 800
	// memory is the size in bytes from which on garbage is collected often all the same: what a
	// command reads may be large, and the node's memory is its pods'. GOMEMLIMIT overrides it.
	memory = 160 << 20
	// umask is systemd's for services.
	umask = 0o022
)

func init() {
	syscall.Umask(umask)
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(percent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(memory)
	}
}
