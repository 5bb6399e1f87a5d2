package node

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/event"
	"github.com/podctl/podctl/internal/worker"
)

// Info is one pod as the node sees it at one moment. What it points to is
// never changed.
type Info struct {
	// Pod is the spec that the pod runs by.
	Pod *v1.Pod
	// Status is the pod's status so far. Its zero value: nothing was done yet.
	Status v1.PodStatus
	// Stage is the worker's phase; Unknown where no worker knows the pod yet.
	Stage worker.Phase
	// Desired: a source wants the pod.
	Desired bool
	// Adopted: the runtime held the pod when podctl started.
	Adopted bool
	// Again: this life of the pod is being ended, and another one follows.
	Again bool
	// Stopped: it was stopped to stay so (Node.Stop).
	Stopped bool
	// Rejected is why the pod may not start, nil if it may.
	Rejected error
	// Op is the operation in flight, since OpSince; OpNone if there is none.
	Op      worker.Op
	OpSince time.Time
	// NextWake is when the worker looks at the pod again by itself; zero
	// where it does not wait.
	NextWake time.Time
	// LastError is how the last operation failed, zero if it did not.
	LastError event.Failure
	// Grace is the grace period in seconds that the stop amounts to, 0 where
	// none is given; StopRequested is when the stop began.
	Grace         int64
	StopRequested time.Time
}

// Ended tells whether the pod will do nothing more: it is down and cleaned
// up and does not come back, or it was never let in.
func (i Info) Ended() bool { return i.Rejected != nil || i.Stage == worker.Finished && !i.Again }

// Succeeded tells whether the pod ran to a good end.
func (i Info) Succeeded() bool { return i.Rejected == nil && i.Status.Phase == v1.PodSucceeded }

// Ready tells whether all of the pod's containers are ready, and the pod is
// not being ended.
func (i Info) Ready() bool { return i.Stage == worker.Syncing && !i.Again && isReady(&i.Status) }
