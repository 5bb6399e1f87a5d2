package diagnose

import (
	"time"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/owners/control"
	"github.com/podctl/podctl/internal/pods/inventory"
	"github.com/podctl/podctl/internal/sys/proc"
)

// Facts are what is known of one pod.
type Facts struct {
	Owner     inventory.Ownership
	OwnerName string // the podctl instance; else ""
	OwnerPID  int    // of a podctl process that does not answer, 0 if it is not known
	Name      string // what names it on a command line
	// Worker is the pod's state in the live podctl process that owns it, else nil.
	Worker *control.Worker
	// KubeletTerminates: the kubelet answered, and it has been told to terminate
	// the pod.
	KubeletTerminates bool
	// Unnamed: the kubelet does not name the pod, from which KubeletTerminates is
	// inferred. Counted: it counts as many such pods as were found.
	Unnamed, Counted bool
	// Requested is when termination began, zero if unknown. GraceLeft is the
	// rest of the grace period, negative once it is exceeded, nil if unknown.
	Requested time.Time
	GraceLeft *time.Duration
	// Containers are those that are running according to the runtime.
	Containers   []Container
	Sandbox      string // id of the newest sandbox
	SandboxReady bool
	// NetworkHeld: that sandbox is not ready, and its network has not been torn down.
	// containerd stops a sandbox before it tears down its network.
	NetworkHeld bool
	// Mounts are the mount points in the pod's directory.
	Mounts []string
	// Server is the process that serves the runtime's socket.
	Server cri.Server
}

// Container is a container that is running according to the runtime.
type Container struct {
	Name, ID string
	// Err is why the runtime did not report the container.
	Err error
	// PID is the first process according to the runtime, 0 if it reports none.
	PID int
	// Hidden: the PID cannot be looked up from podctl's PID namespace, the process
	// must not be read, or it has just exited. Nothing below is known then.
	Hidden bool
	// Gone: no process has the PID, although the runtime still reports it.
	Gone bool
	// Process is the first process, or one of the container's processes that
	// cannot be killed. WaitChannel is the kernel function in which it sleeps.
	Process     proc.Process
	WaitChannel string
	// Shim is the parent of the first process if that is a shim; PID 0 if not.
	Shim proc.Process
	// Kill is a child of the shim that delivers a signal (runc kill); PID 0 if
	// there is none. KillAge is how long it has been running.
	Kill    proc.Process
	KillAge time.Duration
	// Frozen is the cgroup directory that freezes the container, "" if none.
	Frozen string
	// PreStop: the container has a preStop hook. Hook is a process that was
	// started in the container by an exec, PID 0 if there is none.
	PreStop bool
	Hook    proc.Process
	// Grace is the grace period with which it was created, nil if unknown.
	Grace *time.Duration
	// StopSignal is the name of the signal by which the runtime asks it to end, "" where
	// that is not known: SIGTERM, then.
	StopSignal string
}

// known reports whether the first process was read.
func (c Container) known() bool { return c.Err == nil && c.PID != 0 && !c.Hidden }

// Terminating reports whether there is evidence that a pod without a live
// podctl process is being terminated.
func (f Facts) Terminating() bool {
	switch {
	case f.KubeletTerminates && (f.SandboxReady || f.NetworkHeld || len(f.Containers) > 0 || len(f.Mounts) > 0):
		return true
	case f.stopRecorded() && (f.SandboxReady || f.NetworkHeld || len(f.Containers) > 0):
		return true
	case f.Owner == inventory.OwnedByOther && f.NetworkHeld:
		return true
	case !f.SandboxReady && len(f.Containers) > 0:
		return true
	}
	for _, c := range f.Containers {
		if c.known() && (c.Gone || c.Process.State.Ended() || c.killed(c.Process) || c.Kill.PID != 0) {
			return true
		}
		// A shim that is stopped or has ended answers no request to stop.
		if c.Shim.State == proc.Stopped || c.Shim.State.Ended() {
			return true
		}
	}
	return false
}

// stopRecorded reports whether a podctl process that does not answer has recorded that it stops
// the pod.
func (f Facts) stopRecorded() bool {
	return f.Worker == nil && f.Owner.IsPodctl() && !f.Requested.IsZero()
}
