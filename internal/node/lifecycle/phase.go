package lifecycle

import "fmt"

// Phase is where a pod stands with the node. The zero value is None.
type Phase uint8

const (
	// None: the node has no such pod.
	None Phase = iota
	// Waiting: the pod is desired and cannot start yet. Nothing of it runs, and its
	// name is not held. Wait says why, and when it is tried again.
	Waiting
	// Starting: the name is held, and whether the pod may start is being found out.
	// No worker knows it yet.
	Starting
	// Rejected: the pod was not admitted and has failed, until its manifest
	// changes or podctl start. No worker knows it, and its name is not held.
	Rejected
	// Active: a worker has the pod and it stays: it starts, runs, has ended by
	// itself, or stays stopped because of podctl stop.
	Active
	// Stopping: the pod is being stopped by its worker, or what it left behind is
	// still to be removed. If Next is set, it is created again after that.
	Stopping
	// Removing: no worker knows the pod, and what it left behind is being removed.
	Removing
	// Removed: nothing of the pod is left; its worker has yet to forget it.
	Removed
)

var phaseNames = [...]string{
	None: "none", Waiting: "waiting", Starting: "starting", Rejected: "rejected",
	Active: "active", Stopping: "stopping", Removing: "removing", Removed: "removed",
}

func (p Phase) String() string { return name("Phase", phaseNames[:], uint8(p)) }

// Origin is where an entry's pod comes from. The zero value is Created.
type Origin uint8

const (
	// Created: this process created the pod, or will.
	Created Origin = iota
	// Adopted: an earlier podctl left it, in the runtime or on the disk.
	Adopted
)

var originNames = [...]string{Created: "created", Adopted: "adopted"}

func (o Origin) String() string { return name("Origin", originNames[:], uint8(o)) }

// StartMode is how a pod starts. The zero value is New.
type StartMode uint8

const (
	// New: it was admitted and starts.
	New StartMode = iota
	// Resume: the runtime holds it, or it has ended before; it continues.
	Resume
	// StayStopped: podctl stop stopped it, and it stays stopped.
	StayStopped
	// StopThenRestart: it was being stopped; the stop is completed, and the pod is created
	// again.
	StopThenRestart
)

var startModeNames = [...]string{New: "new", Resume: "resume", StayStopped: "stay-stopped", StopThenRestart: "stop-then-restart"}

func (h StartMode) String() string { return name("StartMode", startModeNames[:], uint8(h)) }

// name looks a constant up in the names of its type.
func name(kind string, names []string, value uint8) string {
	if int(value) < len(names) {
		return names[value]
	}
	return fmt.Sprintf("%s(%d)", kind, value)
}
