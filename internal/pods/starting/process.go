package starting

import (
	"path/filepath"
	"strings"
	"time"

	"github.com/podctl/podctl/internal/sys/proc"
)

// Role is what a process does for a pod.
type Role string

// The roles.
const (
	RoleCNI   Role = "cni"   // a CNI plugin
	RoleShim  Role = "shim"  // containerd's shim, conmon
	RoleOCI   Role = "oci"   // runc, crun: creates or starts a container
	RoleMount Role = "mount" // mounts a volume
)

// Process is a process that works for a pod.
type Process struct {
	proc.Process
	Role    Role
	Command []string
	Started time.Time
	// Verb is what a CNI plugin was asked for: ADD, DEL.
	Verb string
	// WaitChannel is the kernel function in which it waits, or one of its threads if that has
	// been in uninterruptible sleep or waiting for a file system at several looks.
	WaitChannel string
	// Blocked: a thread of the process has been in uninterruptible sleep at several looks.
	Blocked bool
}

// stopped reports whether a signal or a debugger has stopped the process.
func (p *Process) stopped() bool { return p.State == proc.Stopped || p.State == proc.Traced }

// program returns the name of the program: of runc's init, which changes its own name, too, and
// of a script that of its file.
func (p *Process) program() string {
	switch {
	case len(p.Command) == 0 || p.Command[0] == "":
		return p.Comm
	case p.Role == RoleCNI && len(p.Command) > 1 && filepath.IsAbs(p.Command[1]) && strings.HasPrefix(filepath.Base(p.Command[1]), p.Comm):
		return filepath.Base(p.Command[1])
	}
	return filepath.Base(p.Command[0])
}

// waitsForFiles reports whether the process waits for a file system.
func (p *Process) waitsForFiles() bool { return isFileWait(p.WaitChannel) }

// fileWaits are parts of the names of the kernel functions in which a process waits for a
// file system or its device.
var fileWaits = []string{"nfs", "rpc_wait", "fuse", "request_wait_answer", "cifs", "smb", "ceph", "autofs", "p9_", "jbd2", "xfs_", "ext4", "io_schedule", "folio_wait", "wait_on_buffer"}

func isFileWait(channel string) bool {
	for _, part := range fileWaits {
		if strings.Contains(channel, part) {
			return true
		}
	}
	return false
}
