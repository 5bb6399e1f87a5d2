package node

import (
	"context"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/node/lifecycle"
	"github.com/podctl/podctl/internal/pod"
)

// Desired is one pod that a source wants to run.
type Desired = lifecycle.Desired

// desired is the union of what all sources want. Absence counts only where
// it was read: a source that has not delivered yet makes the union unready,
// and one that fails later simply does not call set again.
type desired struct {
	mu      sync.Mutex
	sources map[string][]Desired // nil until the source's first complete read
	// objects are each source's, and merged all of them together: of two of one
	// name those of the first source by name count.
	objects map[string]*pod.Objects
	merged  *pod.Objects
	// partial are the sources that may want more than is known, and kept what
	// runs already and may be that.
	partial map[string]bool
	kept    []Desired
	// whole is the union of all sources, nil until it is asked for again. It is never
	// changed.
	whole *wantedPods
}

// wantedPods are pods by UID, and their namespace/names.
type wantedPods struct {
	pods  map[types.UID]Desired
	names map[string]bool
}

func newDesired(sources []string) *desired {
	d := &desired{sources: map[string][]Desired{}, objects: map[string]*pod.Objects{}, merged: pod.Merge(), partial: map[string]bool{}}
	for _, s := range sources {
		d.sources[s] = nil
	}
	return d
}

// set replaces all that one source wants, and returns which objects differ from
// those before.
func (d *desired) set(source string, pods []Desired, objects *pod.Objects, partial bool) *objectNames {
	d.mu.Lock()
	defer d.mu.Unlock()
	before := d.merged
	d.whole = nil
	d.objects[source] = keepImmutable(d.objects[source], objects)
	d.merged = mergeObjects(d.objects)
	d.sources[source] = append([]Desired{}, pods...)
	delete(d.partial, source)
	if partial {
		d.partial[source] = true
	}
	if len(d.partial) == 0 {
		d.kept = nil
	}
	return changedObjects(before, d.merged)
}

// union returns every desired pod by UID, which the caller must not change. ready is
// false until each source has been read whole once; the union then means nothing yet.
// Of two sources that name one UID or one full name, the first by name of source wins.
func (d *desired) union() (pods map[types.UID]Desired, ready bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.unite() {
		return nil, false
	}
	return d.whole.pods, true
}

// wants reports whether a pod of the name is desired.
func (d *desired) wants(namespace, name string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.unite() && d.whole.names[namespace+"/"+name]
}

// unite makes the union, if it is not there, and reports whether there is one. d.mu is
// held.
func (d *desired) unite() bool {
	if d.whole != nil {
		return true
	}
	w := &wantedPods{pods: map[types.UID]Desired{}, names: map[string]bool{}}
	add := func(wanted []Desired) {
		for _, want := range wanted {
			name := want.Pod.Namespace + "/" + want.Pod.Name
			if _, taken := w.pods[want.Pod.UID]; taken || w.names[name] {
				continue
			}
			w.names[name] = true
			w.pods[want.Pod.UID] = want
		}
	}
	for _, source := range slices.Sorted(maps.Keys(d.sources)) {
		if d.sources[source] == nil {
			return false
		}
		add(d.sources[source])
	}
	add(d.kept)
	d.whole = w
	return true
}

// allObjects is every source's objects.
func (d *desired) allObjects() *pod.Objects {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.merged
}

func mergeObjects(bySource map[string]*pod.Objects) *pod.Objects {
	var each []*pod.Objects
	for _, source := range slices.Sorted(maps.Keys(bySource)) {
		each = append(each, bySource[source])
	}
	return pod.Merge(each...)
}

// SetPartly is Set of a source that is not known in full: it could not be read
// yet, or a part of it is invalid. What it wants beside may be what this
// instance runs already, from when it could be read: such pods are adopted and
// keep running, instead of being stopped because no source desires them.
func (n *Node) SetPartly(source string, pods []Desired, objects *pod.Objects) {
	n.set(source, pods, objects, true)
}

// isPartial reports whether any source is not known in full.
func (d *desired) isPartial() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.partial) > 0
}

// keepPod makes a pod desired for as long as some source is not known in full.
func (d *desired) keepPod(want Desired) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.kept, d.whole = append(d.kept, want), nil
}

// keepPodsOfPartialSources makes this instance's pods that no source desires desired, if
// they may be of a source that is not known in full, and does not stop them. It returns
// how many those are.
func (n *Node) keepPodsOfPartialSources(ctx context.Context, found *lifecycle.Findings) (unread int) {
	if !n.desired.isPartial() {
		return 0
	}
	stop := found.Stop
	found.Stop = nil
	for _, p := range stop {
		if !found.NotDesired[p.UID] {
			found.Stop = append(found.Stop, p) // another pod of its name is desired
			continue
		}
		unread++
		d, err := n.manifestOf(ctx, p)
		if err != nil {
			n.log.Warn("leave a pod alone that may still be wanted", "pod", p.FullName(), "uid", p.UID, "err", err)
			continue
		}
		n.desired.keepPod(d)
		n.wake.signal()
	}
	return unread
}
