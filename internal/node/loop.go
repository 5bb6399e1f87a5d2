package node

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pleg"
	"github.com/podctl/podctl/internal/worker"
)

// Run drives the pods until ctx ends, and then leaves them as they are: end
// them with Drain first. It may be called once.
func (n *Node) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	events := n.pleg.Subscribe()
	defer events.Close()
	var relisting sync.WaitGroup
	var plegErr error
	relisting.Go(func() { plegErr = n.pleg.Run(ctx) })
	limits := limitWatcher{pods: n.pods, rt: n.rt, host: n.opts.Host, volumes: n.opts.Volumes, facts: n.opts.Facts, evictor: n.evictor, observer: n.opts.Observer, log: n.log}
	relisting.Go(func() { limits.run(ctx) })
	relisting.Go(func() { watchLogSpace(ctx, n.opts.Host, n.events, n.log) })

	n.loop(ctx, events)

	// Operations need the PLEG to come to their end, so they are ended first.
	closing, done := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer done()
	err := n.workers.Close(closing)
	if err != nil {
		err = fmt.Errorf("operations in flight did not end within %s, the runtime may still carry them out: %w", closeTimeout, err)
	}
	n.probes.Close()
	cancel()
	relisting.Wait()
	n.background.Wait()
	return errors.Join(err, plegErr)
}

// closeTimeout is how long operations in flight may take to end once they were
// cancelled. Creating and starting are not interrupted, so that no process is left
// that no podctl knows of; only a runtime that hangs takes longer.
const closeTimeout = 10 * time.Second

// loop is the node's syncLoop (pkg/kubelet/kubelet.go).
func (n *Node) loop(ctx context.Context, events *pleg.Subscription) {
	housekeeping := time.NewTicker(housekeepingPeriod)
	defer housekeeping.Stop()
	n.progress.record()
	n.reconcile(ctx, true)
	for {
		n.progress.record()
		select {
		case <-ctx.Done():
			return
		case <-n.wake:
			n.reconcile(ctx, !n.pods.hasSurveyed(surveyDone))
		case <-housekeeping.C:
			n.reconcile(ctx, true)
		case <-events.Ready():
			n.handlePLEGEvents(ctx, events.Take())
		}
	}
}

// wakeup makes the loop reconcile soon. It has room for one signal: more of them before
// the loop comes to it are one.
type wakeup chan struct{}

func (w wakeup) signal() {
	select {
	case w <- struct{}{}:
	default:
	}
}

// handlePLEGEvents has the workers of the events' pods sync them. A pod that is leaving is
// being stopped already: its worker retries by itself, or has forgotten it, and must not
// take the event for the beginning of another life.
func (n *Node) handlePLEGEvents(ctx context.Context, events []pleg.Event) {
	synced := map[types.UID]bool{}
	for _, ev := range events {
		n.pods.mu.Lock()
		isActive := n.pods.isActive(n.pods.get(ev.PodUID))
		n.pods.mu.Unlock()
		if !isActive {
			continue
		}
		switch ev.Type {
		case pleg.ContainerRemoved:
			continue // nothing to do about it (isSyncPodWorthy in pkg/kubelet/kubelet.go)
		case pleg.ContainerDied:
			n.remover.removeOldDead(ctx, ev)
			if killedForUnknownReason(ev) {
				n.pleg.RequestReinspect(ev.PodUID)
			}
		case pleg.ContainerStarted, pleg.ContainerChanged, pleg.PodSync:
		}
		if !synced[ev.PodUID] {
			synced[ev.PodUID] = true
			n.syncPod(ev.PodUID)
		}
	}
}

// syncPod has a pod's worker sync it, if the pod is active.
func (n *Node) syncPod(uid types.UID) {
	n.pods.mu.Lock()
	e := n.pods.get(uid)
	if !n.pods.isActive(e) {
		n.pods.mu.Unlock()
		return
	}
	u := worker.Update{Pod: e.allocated(), Type: worker.TypeSync, Exclusive: true}
	n.pods.mu.Unlock()
	n.workers.Update(u)
}

// killedForUnknownReason reports whether a container was killed for a reason
// that the runtime may still be about to learn: that it was out of memory. A
// hint is quicker than the kernel's notice of that.
func killedForUnknownReason(ev pleg.Event) bool {
	if ev.Status == nil {
		return false
	}
	c := ev.Status.ContainerByID(ev.ID)
	return c != nil && c.ExitCode == 137 && c.Reason != "OOMKilled"
}
