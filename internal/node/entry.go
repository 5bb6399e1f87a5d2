package node

import (
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/node/device"
	"github.com/podctl/podctl/internal/node/lifecycle"
	"github.com/podctl/podctl/internal/node/poddir"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/sys/hint"
	"github.com/podctl/podctl/internal/worker"
)

// entry is a pod of the node: what is decided about it, which only
// lifecycle.Step changes, and what carrying that out has to remember. It is
// guarded by podTable.mu.
type entry struct {
	lifecycle.Entry
	// stage is the worker's phase, as of its last change.
	stage  worker.Phase
	status v1.PodStatus
	// stoppedBefore reports that an earlier podctl stopped the pod or saw it end, and that nothing
	// of it runs, before its worker has found that out: its stage is Finished then.
	stoppedBefore bool
	// record is what outlives the process beside the runtime. It changes together with
	// its file, under recording, which is taken before the table's mutex.
	record    poddir.Record
	recording sync.Mutex
	// touched is when the last operation that may have changed something in
	// the runtime ended: a status must be newer to show what it did.
	touched time.Time
	// deadline is when the pod's active deadline is over, and alarm wakes it
	// then; zero and nil without one.
	deadline time.Time
	alarm    *time.Timer
	// granted is what the pod may use, nil for what it asks for; adopted is what an
	// earlier podctl gave its containers. deferred is a resize that waits, nil without
	// one. current is the pod with what it was granted.
	granted, adopted *pod.Allocation
	deferred         *deferral
	current          allocatedPod
	// devices are those of its containers.
	devices device.Assignment
}

// hasNext reports whether another life of the pod follows this one.
func (e *entry) hasNext() bool { return e.Next != nil }

// hasWorker reports whether the pod's worker has been told of it.
func (e *entry) hasWorker() bool { return e.Phase == lifecycle.Active || e.Leaving() }

// recordFor returns the record of a pod that begins. A new pod whose directory is
// another runtime's gets one of its own. The error says why what is recorded may not
// be used for a pod that this runtime has: the directory is another runtime's, and a
// living process manages the pod there. If none does, the other runtime's id is
// another path to this one.
func (n *Node) recordFor(d Desired, adopt bool) (poddir.Record, error) {
	dir := n.opts.Facts.Dir(d.UID())
	rec := poddir.ReadRecord(dir)
	if !rec.IsElsewhere(n.locks.Runtime(), n.locks.Fingerprint()) {
		return rec, nil
	}
	if !adopt {
		n.opts.Dirs.Own(d.UID())
		return poddir.ReadRecord(n.opts.Facts.Dir(d.UID())), nil
	}
	if held, err := n.locks.IsHeldOn(rec.Runtime(), d.FullName()); err != nil || held {
		return rec, hint.Errorf("give this runtime directories of its own with --root and --log-dir, or remove the other pod",
			"the directory %s belongs to a pod on another runtime (podctl %s)", dir, rec.Owner)
	}
	return rec, nil
}
