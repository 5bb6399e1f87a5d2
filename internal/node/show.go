package node

import (
	"fmt"
	"sync/atomic"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pleg"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/worker"
)

// Observer is told what the node does, for metrics. Its methods must not block
// and may be called from several goroutines. What the PLEG does its own
// observer is told (Options.PLEG.Observer).
type Observer interface {
	worker.Observer
	// StatusChanged: the phase in a pod's status is another than before, which
	// was "" before the first status.
	StatusChanged(p *v1.Pod, before, after v1.PodPhase)
	// Restarted: a pod that has ended is to begin again under its UID.
	Restarted(p *v1.Pod)
	// OrphanFound: the runtime held a pod of podctl's that no worker knew and
	// that has to go.
	OrphanFound()
	// StartedUserNamespaced: a pod with a user namespace was to start, and err is
	// why it did not.
	StartedUserNamespaced(err error)
	// Admitted: a pod was admitted, and not adopted.
	Admitted(p *v1.Pod)
	// Rejected: a pod was not admitted, for this reason.
	Rejected(reason string)
	// Evicted: a pod was ended for good because it held too much of this.
	Evicted(signal string)
	// Preempted: a pod was evicted to make room, because of this resource.
	Preempted(signal string)
	// DeferredResizeEnded: a resize that waited for room does not wait any more.
	DeferredResizeEnded(p *v1.Pod, how ResizeResolution, waited time.Duration)
}

// ResizeResolution is how the wait of a resize ended.
type ResizeResolution string

// The pod was granted what it asked for, or asks for what it has.
const (
	ResizeAccepted ResizeResolution = "accepted"
	ResizeReverted ResizeResolution = "reverted"
)

// noObserver observes nothing.
type noObserver struct{}

func (noObserver) PhaseChanged(worker.PhaseChange)                              {}
func (noObserver) OperationStarted(worker.Operation)                            {}
func (noObserver) OperationDone(worker.Operation)                               {}
func (noObserver) StatusChanged(_ *v1.Pod, _, _ v1.PodPhase)                    {}
func (noObserver) Restarted(*v1.Pod)                                            {}
func (noObserver) OrphanFound()                                                 {}
func (noObserver) StartedUserNamespaced(error)                                  {}
func (noObserver) Admitted(*v1.Pod)                                             {}
func (noObserver) Rejected(string)                                              {}
func (noObserver) Evicted(string)                                               {}
func (noObserver) Preempted(string)                                             {}
func (noObserver) DeferredResizeEnded(*v1.Pod, ResizeResolution, time.Duration) {}

// Workers returns every pod that a worker knows, as that sees it, by namespace,
// name and UID.
func (n *Node) Workers() []worker.Info { return n.workers.Snapshot() }

// RuntimePods returns every pod of the runtime as it was listed last.
func (n *Node) RuntimePods() []*pod.Pod { return n.pleg.Pods() }

// PLEG returns what the PLEG is doing, and nil or why it is not healthy.
func (n *Node) PLEG() (pleg.Health, error) { return n.pleg.Health(), n.pleg.Healthy() }

// Unhinted is how many changes came without a hint of the runtime.
func (n *Node) Unhinted() int { return n.pleg.Unhinted() }

// loopThreshold is how long a turn of the loop may take (SyncLoopHealthCheck
// in pkg/kubelet/kubelet.go).
const loopThreshold = 5 * time.Minute

// Allocatable is what all pods of the node together may request; nil if they
// are not bounded.
func (n *Node) Allocatable() v1.ResourceList { return n.opts.Allocatable }

// Name is the node's name.
func (n *Node) Name() string { return n.opts.Facts.Name }

// LoopHealthy returns nil, or that the loop has been busy with one thing for
// too long. A loop that has not begun yet is healthy, as in the kubelet.
func (n *Node) LoopHealthy() error {
	if busy := n.progress.age(); busy > loopThreshold {
		return fmt.Errorf("sync loop stalled for %v", busy.Round(time.Second))
	}
	return nil
}

// progress is when the loop last began or ended a turn, in Unix nanoseconds; 0 before
// the first.
type progress struct{ at atomic.Int64 }

// record records that the loop makes progress now.
func (p *progress) record() { p.at.Store(time.Now().UnixNano()) }

// age returns the time since the last progress, 0 before the first.
func (p *progress) age() time.Duration {
	at := p.at.Load()
	if at == 0 {
		return 0
	}
	return time.Since(time.Unix(0, at))
}
