package control

import (
	"context"

	v1 "k8s.io/api/core/v1"
)

// Host is what the server shows and drives: a node. All but Stop answer at once.
// Errors of Stop and Start are ErrNotFound where there is no such pod.
type Host interface {
	// ID is the unique id of the process: see owner.Holder.
	ID() string
	// Settled reports whether Pods are all pods that the process owns: it may have just
	// started.
	Settled() bool
	// Pods are all pods that the node manages, with their status.
	Pods() *v1.PodList
	// NodeObject is the node itself: its name, and what is allocatable where it is
	// bounded.
	NodeObject() *v1.Node
	// Workers are the same as their workers see them.
	Workers() []Worker
	// Stop ends a pod to stay so, and returns when nothing of it runs. grace is
	// in seconds; nil is the pod's own.
	Stop(ctx context.Context, namespace, name string, grace *int64) error
	// Start lets a stopped pod run again.
	Start(ctx context.Context, namespace, name string) error
	// Restart restarts containers of a pod that runs, in its sandbox, and returns before any
	// is stopped: the runs of these ids, by name, "" is the newest. force: also those that start again only with some exit codes.
	Restart(namespace, name string, containers map[string]string, force bool) error
	// Debug adds an ephemeral container to a pod that runs, and returns before it is
	// started.
	Debug(namespace, name string, c v1.EphemeralContainer) error
	// SetCondition sets a condition of a pod that is not podctl's own, or removes it if its
	// status is empty.
	SetCondition(namespace, name string, c v1.PodCondition) error
	// Checks are those of /healthz, beside ping, in order.
	Checks() []Check
}

// Check is one check of /healthz and /readyz.
type Check struct {
	Name string
	// Runtime: the check depends on calls of the runtime. It counts for
	// readiness, not for liveness.
	Runtime bool
	// Run returns nil if all is well. It does not block.
	Run func() error
}
