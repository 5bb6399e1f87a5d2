package node

import (
	"errors"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/node/lifecycle"
	"github.com/podctl/podctl/internal/node/podsync"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
	"github.com/podctl/podctl/internal/worker"
)

// Info is one pod as the node sees it at one moment. What it points to is
// never changed.
type Info struct {
	// Pod is the spec that the pod runs by.
	Pod *v1.Pod
	// Status is the pod's status so far. Its zero value: nothing was done yet.
	Status v1.PodStatus
	// WorkerPhase is the phase of the pod's worker; Unknown if no worker has the pod.
	WorkerPhase worker.Phase
	// Desired: a source wants the pod.
	Desired bool
	// Adopted: the runtime held the pod when podctl started.
	Adopted bool
	// Again: this life of the pod is being ended, and another one follows.
	Again bool
	// Stopped: it was stopped to stay so (Node.Stop).
	Stopped bool
	// Lifecycle is the node's phase of the pod.
	Lifecycle lifecycle.Phase
	// Rejected is why the pod does not run: it was not admitted or, if Wait has a reason,
	// something is in the way that podctl does not end by itself. It is nil if neither is so.
	Rejected error
	// Wait is why it cannot start yet, or why what it left behind could not be
	// removed yet, and when that is tried again; zero if it does not wait.
	Wait lifecycle.Wait
	// Op is the operation in flight, since OpSince; OpNone if there is none.
	Op      worker.Op
	OpSince time.Time
	// NextWake is when the worker looks at the pod again by itself; zero
	// where it does not wait.
	NextWake time.Time
	// LastError is how the last operation failed, zero if it did not.
	LastError event.Failure
	// Unready are the containers whose probes failed when they were last asked.
	Unready []event.Unready
	// BackOffs are those of the containers whose last start was put off, by name.
	BackOffs map[string]podsync.BackOff
	// Start is how far its start is.
	Start pod.Start
	// Grace is the grace period in seconds that the stop amounts to, 0 where
	// none is given; StopRequested is when the stop began.
	Grace         int64
	StopRequested time.Time
}

// Admitted reports whether the pod was admitted: its worker has it.
func (i Info) Admitted() bool {
	return i.Lifecycle != lifecycle.Waiting && i.Lifecycle != lifecycle.Starting && i.Lifecycle != lifecycle.Rejected
}

// WaitReason returns what the pod waits for, "" if it does not wait.
func (i Info) WaitReason() string {
	if i.Wait.Tries == 0 {
		return ""
	}
	return i.Wait.Reason.String()
}

// Terminating reports whether the pod is terminating: asked to stop, and not yet cleaned
// up.
func (i Info) Terminating() bool {
	return i.WorkerPhase == worker.Terminating || i.WorkerPhase == worker.Terminated
}

// Display returns the pod in the terms of kubectl's columns.
func (i Info) Display() pod.Display {
	p := *i.Pod // what it points to is not changed
	p.Status = i.Status
	d := pod.DisplayOf(&p)
	d.Status, _ = pod.StatusFacts{
		Containers: d.Status, Phase: i.Status.Phase, Rejected: i.Rejected != nil, WaitReason: i.WaitReason(),
		Terminating: i.Terminating(), Stopped: i.Stopped, Finished: i.WorkerPhase == worker.Finished,
	}.Decide()
	return d
}

// HostPort returns the host port for which the pod was rejected, or waits; nil if it is not
// about one.
func (i Info) HostPort() *event.HostPort { return takenPort(i.Rejected) }

// Ended reports whether the pod does nothing more by itself: it is down and
// cleaned up and does not come back, or it cannot start.
func (i Info) Ended() bool {
	if inUse, ok := errors.AsType[*DevicesInUseError](i.Rejected); ok && inUse.ours {
		return false // it starts when another pod of this process has ended
	}
	return i.Rejected != nil || (i.WorkerPhase == worker.Finished || i.Lifecycle == lifecycle.Removed) && !i.Again
}

// Leaving reports whether the pod is not desired and something of it may still run,
// or is being cleaned up.
func (i Info) Leaving() bool {
	return !i.Desired && i.Lifecycle == lifecycle.Stopping && i.WorkerPhase != worker.Finished && i.Wait.Tries == 0
}

// Succeeded reports whether the pod has ended successfully.
func (i Info) Succeeded() bool { return i.Rejected == nil && i.Status.Phase == v1.PodSucceeded }

// Ready reports whether all of the pod's containers are ready, and the pod is
// not being ended.
func (i Info) Ready() bool { return i.WorkerPhase == worker.Syncing && !i.Again && isReady(&i.Status) }
