package node

import (
	"bytes"
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/manifest"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/worker"
)

// reconcile compares what is desired, what the workers know, and what the
// runtime holds, and starts what has to be done: HandlePodCleanups in
// pkg/kubelet/kubelet_pods.go, and what its handlers of sources do. It is
// called by the loop only. The runtime is listed if there is something to start,
// or full is set; while it cannot be listed, nothing is started or taken for
// gone.
func (n *Node) reconcile(ctx context.Context, full bool) {
	want, ready := n.wanted()
	if !ready {
		return
	}
	n.undesire(want)
	var pods []*v1.Pod
	for _, d := range sorted(want) {
		pods = append(pods, d.Pod)
	}
	known := n.workers.SyncKnownPods(pods)
	n.removeLeft(ctx, known)

	starting := n.starting(want, known)
	if len(starting) == 0 && !full {
		return
	}
	held, err := n.rt.ListPods(ctx)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		n.log.Warn("housekeeping", "err", err)
		return
	}
	isKnown := func(uid types.UID) bool { _, ok := known[uid]; return ok || n.has(uid) }
	found := sortOut(held, isKnown, want, n.opts.Instance)
	n.endFound(ctx, found.end)
	adopt := n.adoptable(ctx, found.adopt, want)
	for _, d := range starting {
		if n.has(d.Pod.UID) {
			continue // just found to be on its way down
		}
		if p, ok := found.foreign[d.Pod.UID]; ok {
			n.reject(d, &ForeignPodError{Pod: p})
			continue
		}
		n.start(d, adopt[d.Pod.UID])
	}
}

// wanted is the union of all sources, nothing while draining.
func (n *Node) wanted() (map[types.UID]Desired, bool) {
	n.mu.Lock()
	draining := n.draining
	n.mu.Unlock()
	if draining {
		return map[types.UID]Desired{}, true
	}
	return n.desired.union()
}

// undesire stops what was desired and is not any more, with its own grace
// or, while draining, a shorter one.
func (n *Node) undesire(want map[types.UID]Desired) {
	var stop []*v1.Pod
	var drop []types.UID
	n.mu.Lock()
	grace := n.grace
	for uid, e := range n.entries {
		if _, ok := want[uid]; ok || !e.desired {
			continue
		}
		e.desired = false
		switch {
		case e.rejected != nil:
			drop = append(drop, uid)
		case e.alive():
			stop = append(stop, e.want.Pod)
		}
	}
	n.mu.Unlock()
	for _, uid := range drop {
		n.drop(uid)
	}
	for _, p := range stop {
		n.workers.Kill(p, true, worker.KillOptions{Grace: grace})
	}
}

// starting are the desired pods that no worker knows and that may start: they
// are not rejected, and nothing of an earlier life of theirs is left. A pod
// that is on its way down although it is desired is created again after that;
// and so is one of the same UID and another document, which is stopped first.
func (n *Node) starting(want map[types.UID]Desired, known map[types.UID]worker.Known) []Desired {
	var starting, again []Desired
	var changed []*v1.Pod
	n.mu.Lock()
	for _, d := range sorted(want) {
		e := n.entries[d.Pod.UID]
		if e == nil {
			starting = append(starting, d)
			continue
		}
		_, isKnown := known[d.Pod.UID]
		switch {
		case e.rejected != nil:
		case !bytes.Equal(e.want.Document, d.Document) && !e.fresh:
			// A manifest that fixes its uid has changed.
			e.fresh, e.desired = true, true
			changed = append(changed, e.want.Pod)
			again = append(again, d)
		case isKnown && !e.desired:
			e.desired, e.fresh = true, true
			again = append(again, d)
		}
	}
	n.mu.Unlock()
	for _, p := range changed {
		n.workers.Kill(p, true, worker.KillOptions{})
	}
	for _, d := range again {
		n.workers.Update(worker.Update{Pod: d.Pod, Type: worker.TypeCreate, Exclusive: true})
	}
	return starting
}

// adoptable are those of the found pods that run by the very document that is
// desired. One that fixes its uid may have changed while nobody was there: it
// is ended like any older manifest, and created again after that.
func (n *Node) adoptable(ctx context.Context, found []*pod.Pod, want map[types.UID]Desired) map[types.UID]bool {
	adopt := map[types.UID]bool{}
	for _, p := range found {
		held, err := n.manifestOf(ctx, p)
		if err == nil && !bytes.Equal(held.Document, want[p.UID].Document) {
			n.endFound(ctx, []*pod.Pod{p})
			continue
		}
		adopt[p.UID] = true
	}
	return adopt
}

// start lets a pod in: its name is claimed, and its worker begins, with what
// the runtime already holds where adopt says so. A pod that had ended, or was
// being ended, when its podctl died, may have only its record left.
func (n *Node) start(d Desired, adopt bool) {
	if err := n.locks.Claim(pod.FullNameOf(d.Pod)); err != nil {
		n.reject(d, err)
		return
	}
	rec := readRecord(n.opts.Facts.Dir(d.Pod.UID))
	if !adopt {
		rec = rec.alone(d.Document, time.Now())
	}
	adopt = adopt || rec.stopped()
	spec := d.Pod
	if rec.Phase != "" {
		spec = spec.DeepCopy()
		spec.Status.Phase, spec.Status.Reason, spec.Status.Message = rec.Phase, rec.Reason, rec.Message
	}
	e := &entry{want: Desired{Pod: spec, Document: d.Document}, desired: true, adopted: adopt, record: rec}
	if adopt {
		e.touched = time.Now() // by whoever made it
	}
	n.mu.Lock()
	n.entries[d.Pod.UID] = e
	n.mu.Unlock()
	if !adopt {
		n.event(spec, "", ReasonStarting, false, "starting")
		n.workers.Update(worker.Update{Pod: spec, Type: worker.TypeCreate, Exclusive: true})
		return
	}
	n.event(spec, "", ReasonAdopted, false, "%s", rec.adoption())
	n.workers.Adopt(spec, true)
	if rec.StopRequested.IsZero() {
		n.workers.Update(worker.Update{Pod: spec, Type: worker.TypeSync, Exclusive: true})
		return
	}
	// It was being stopped when its podctl died: that is brought to its end,
	// and then the pod starts anew, because it is asked for.
	n.mu.Lock()
	n.entries[d.Pod.UID].fresh = true
	n.mu.Unlock()
	n.workers.Kill(spec, true, worker.KillOptions{Grace: rec.graceLeft(time.Now())})
	n.workers.Update(worker.Update{Pod: spec, Type: worker.TypeCreate, Exclusive: true})
}

// reject takes note that a desired pod may not start.
func (n *Node) reject(d Desired, why error) {
	n.mu.Lock()
	n.entries[d.Pod.UID] = &entry{want: d, desired: true, rejected: why}
	n.mu.Unlock()
	n.event(d.Pod, "", ReasonRejected, true, "%v", why)
	n.changed()
}

// endFound ends podctl's pods that have to go: with their own grace and hooks
// where the manifest on the sandbox can be read, as a runtime-only pod else.
func (n *Node) endFound(ctx context.Context, pods []*pod.Pod) {
	for _, p := range pods {
		if err := n.locks.Claim(p.FullName()); err != nil {
			continue // another podctl manages it by now
		}
		d, err := n.manifestOf(ctx, p)
		if err != nil {
			n.log.Warn("end a pod without its manifest", "pod", p.FullName(), "uid", p.UID, "err", err)
			d = Desired{Pod: nameOnly(p)}
		}
		rec := readRecord(n.opts.Facts.Dir(p.UID))
		n.mu.Lock()
		n.entries[p.UID] = &entry{want: d, adopted: true, record: rec, touched: time.Now()}
		n.mu.Unlock()
		if err != nil {
			n.workers.KillRuntime(p, true)
			continue
		}
		n.workers.Adopt(d.Pod, true)
		n.workers.Kill(d.Pod, true, worker.KillOptions{Grace: rec.graceLeft(time.Now())})
	}
}

// nameOnly stands for a pod whose manifest cannot be read.
func nameOnly(p *pod.Pod) *v1.Pod {
	return &v1.Pod{ObjectMeta: metav1.ObjectMeta{UID: p.UID, Name: p.Name, Namespace: p.Namespace}}
}

// manifestOf reads the pod that a sandbox carries.
func (n *Node) manifestOf(ctx context.Context, p *pod.Pod) (Desired, error) {
	for _, s := range p.Sandboxes {
		if !s.HasManifest {
			continue
		}
		raw, _, err := n.rt.Manifest(ctx, s.ID)
		if err != nil {
			return Desired{}, err
		}
		document, err := manifest.Decompress(raw)
		if err != nil {
			return Desired{}, err
		}
		spec, err := manifest.Decode(document)
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
