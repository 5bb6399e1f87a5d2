package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/desired/manifest"
	"github.com/podctl/podctl/internal/node/lifecycle"
	"github.com/podctl/podctl/internal/node/poddir"
	"github.com/podctl/podctl/internal/pod"
)

// adoptable are those of the found pods that run by the document that is desired,
// or can follow to it. The document may have changed while no podctl ran: any other
// is older, to be stopped like any older manifest, and created again after that.
func (n *Node) adoptable(ctx context.Context, found lifecycle.Findings, want map[types.UID]Desired) (adopt map[types.UID]bool, older []*pod.Pod) {
	adopt = map[types.UID]bool{}
	for _, p := range found.Adopt {
		held, err := n.manifestOf(ctx, p)
		switch {
		case isUnanswered(err):
			found.MarkUnread(p)
		case err == nil && !n.canContinueAs(p.UID, held, want[p.UID]):
			older = append(older, p)
		default:
			adopt[p.UID] = true
			if err == nil {
				n.pods.mu.Lock()
				n.pods.grant(p.UID, recordedAllocation(poddir.ReadRecord(n.opts.Facts.Dir(p.UID)), held.Pod))
				n.pods.mu.Unlock()
			}
		}
	}
	return adopt, older
}

// stopFound stops podctl's pods that have to go: with their own grace and hooks
// where the manifest on the sandbox can be read, as a runtime-only pod else. Those
// that it cannot stop now it adds to what was found.
func (n *Node) stopFound(ctx context.Context, pods []*pod.Pod, found *lifecycle.Findings) {
	for _, p := range pods {
		if n.isShuttingDown() && !p.MayBeRunning() {
			continue // it stays as it is for a later podctl
		}
		if err := n.locks.Claim(p.FullName()); err != nil {
			found.MarkManagedByOther(p, err) // another podctl process manages it by now
			continue
		}
		d, err := n.manifestOf(ctx, p)
		if isUnanswered(err) {
			n.log.Warn("stop a pod later", "pod", p.FullName(), "uid", p.UID, "err", err)
			found.MarkUnread(p)
			n.names.release(p.FullName())
			continue
		}
		ev := lifecycle.Found{Desired: d}
		if err != nil {
			n.log.Warn("stop a pod without its manifest", "pod", p.FullName(), "uid", p.UID, "err", err)
			ev = lifecycle.Found{Desired: Desired{Pod: nameOnly(p)}, Runtime: p}
		}
		n.stopOne(ctx, ev)
	}
}

// stopOne stops a pod that was found.
func (n *Node) stopOne(ctx context.Context, ev lifecycle.Found) {
	rec := poddir.ReadRecord(n.opts.Facts.Dir(ev.UID()))
	if rec.IsElsewhere(n.locks.Runtime(), n.locks.Fingerprint()) {
		// A pod of the UID may run there: neither its record nor its files are this pod's.
		n.opts.Dirs.Own(ev.UID())
		rec = poddir.ReadRecord(n.opts.Facts.Dir(ev.UID()))
	}
	n.pods.mu.Lock()
	w := n.pods.step(ev.UID(), ev)
	e := n.pods.get(ev.UID())
	e.record, e.touched = rec, time.Now()
	n.pods.mu.Unlock()
	n.carryOut(ctx, w)
	n.names.release(ev.FullName())
}

// nameOnly stands for a pod whose manifest cannot be read.
func nameOnly(p *pod.Pod) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: p.UID, Name: p.Name, Namespace: p.Namespace}}
}

// isUnanswered reports whether a runtime that does not answer is why something
// could not be read: that says nothing about what was to be read.
func isUnanswered(err error) bool {
	return errors.Is(err, cri.ErrUnavailable) || errors.Is(err, cri.ErrDeadline) || errors.Is(err, context.Canceled)
}

// manifestOf reads the pod that a sandbox carries.
func (n *Node) manifestOf(ctx context.Context, p *pod.Pod) (Desired, error) {
	for _, s := range p.Sandboxes {
		if !s.HasManifest {
			continue
		}
		raw, _, err := n.rt.Manifest(ctx, s.ID)
		if errors.Is(err, cri.ErrNotFound) {
			continue // it is listed only
		}
		if err != nil {
			return Desired{}, err
		}
		spec, document, err := manifest.Stored(raw)
		if err != nil {
			return Desired{}, err
		}
		if spec.UID != p.UID {
			return Desired{}, fmt.Errorf("read manifest of sandbox %s: it is of pod %s", s.ID, spec.UID)
		}
		return Desired{Pod: spec, Document: document}, nil
	}
	return Desired{}, fmt.Errorf("pod %s: no sandbox carries its manifest", p.UID)
}

// Owners returns why a pod is not this process's to adopt or to stop: another podctl process
// owns it, by another endpoint or run directory, or may own it; nil if none does.
type Owners func(p *pod.Pod) error

// leaveOwned takes the pods out of what is adopted or stopped that a podctl process
// owns by another endpoint: a proxy may lead to the same runtime, whose locks then
// are not those of this process. If that is not known now, all of them wait.
func (n *Node) leaveOwned(ctx context.Context, found *lifecycle.Findings) {
	if n.opts.OwnersElsewhere == nil || len(found.Adopt)+len(found.Stop) == 0 {
		return
	}
	ownerOf, err := n.opts.OwnersElsewhere(ctx, slices.Concat(found.Adopt, found.Stop))
	if err != nil && ctx.Err() == nil {
		n.log.Warn("adopt and stop pods later: their owners are not known", "err", err)
	}
	isOwned := func(p *pod.Pod) bool {
		if err != nil {
			found.MarkUnread(p)
			return true
		}
		why := ownerOf(p)
		if why != nil {
			found.MarkManagedByOther(p, why)
		}
		return why != nil
	}
	found.Adopt = slices.DeleteFunc(found.Adopt, isOwned)
	found.Stop = slices.DeleteFunc(found.Stop, isOwned)
}
