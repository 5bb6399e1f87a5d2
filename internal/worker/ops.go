package worker

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
)

// Ops does the work on pods (podSyncer in pkg/kubelet/pod_workers.go). Calls
// for one UID never overlap; calls for different ones do. A call may take as
// long as it needs, but ends soon, with an error, once ctx is cancelled: the
// pod is to be stopped, its grace was shortened, or the worker is closed. ctx
// ends with the call.
//
// Waiting for a status newer than Since is the business of Ops.
type Ops interface {
	// Sync brings the pod nearer to its spec. terminal says that the pod has
	// ended by itself and shall be terminated; it counts only without an error.
	Sync(ctx context.Context, in SyncInput) (terminal bool, err error)
	// Terminate stops all containers. Without an error nothing of the pod runs.
	Terminate(ctx context.Context, in TerminateInput) error
	// TerminateRuntime does the same for a pod whose spec is not known, with
	// the grace of 1 s that the kubelet gives it.
	TerminateRuntime(ctx context.Context, p *pod.Pod) error
	// Cleanup releases what the stopped pod holds. Without an error the pod is
	// Finished.
	Cleanup(ctx context.Context, in CleanupInput) error
}

// SyncInput is what Sync is given.
type SyncInput struct {
	Pod  *v1.Pod
	Type UpdateType
	// Since is when the pod's previous operation ended; zero before the first.
	Since time.Time
}

// TerminateInput is what Terminate is given.
type TerminateInput struct {
	Pod *v1.Pod
	// Grace in seconds, at least 1, or nil: then the deletion's, the probe's or
	// the spec's grace counts.
	Grace *int64
	// Status overrides the pod's status, unless it is zero.
	Status StatusOverride
	// Since is when the pod's previous operation ended; zero before the first.
	Since time.Time
}

// CleanupInput is what Cleanup is given.
type CleanupInput struct {
	Pod *v1.Pod
	// Status is the override that Terminate was given last.
	Status StatusOverride
	// Since is when the pod's previous operation ended; zero before the first.
	Since time.Time
}

// callOp carries one operation out.
func callOp(ctx context.Context, ops Ops, s Start) (terminal bool, err error) {
	switch s.Op {
	case OpSync:
		return ops.Sync(ctx, SyncInput{Pod: s.Work.Pod, Type: s.Work.Type, Since: s.Since})
	case OpTerminate:
		in := TerminateInput{Pod: s.Work.Pod, Status: s.Status, Since: s.Since}
		if s.Work.Grace != 0 {
			in.Grace = &s.Work.Grace
		}
		return false, ops.Terminate(ctx, in)
	case OpTerminateRuntime:
		return false, ops.TerminateRuntime(ctx, s.Work.Runtime)
	case OpCleanup:
		return false, ops.Cleanup(ctx, CleanupInput{Pod: s.Work.Pod, Status: s.Status, Since: s.Since})
	default:
		return false, fmt.Errorf("operation %s cannot be performed", s.Op)
	}
}
