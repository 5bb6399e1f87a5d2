package main

import (
	"cmp"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/podctl/podctl/internal/pleg"
	"github.com/podctl/podctl/internal/pod"
)

// criCall is a call of the runtime.
type criCall struct {
	method string
	id     string // of a container or sandbox, "" if it is about none
	since  time.Time
}

// callsInFlight knows the calls that the runtime has not answered, and how
// long the slowest call about each container and sandbox took.
type callsInFlight struct {
	now func() time.Time

	mu      sync.Mutex
	calls   map[*criCall]struct{}
	slowest map[string]criTook // by id; nil where nobody asks for them
}

// criTook is a call that was answered.
type criTook struct {
	method string
	took   time.Duration
}

func newCallsInFlight(now func() time.Time) *callsInFlight {
	return &callsInFlight{now: now, calls: map[*criCall]struct{}{}, slowest: map[string]criTook{}}
}

// Begin implements cri.CallWatcher.
func (f *callsInFlight) Begin(method, id string) (end func(error)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := &criCall{method: method, id: id, since: f.now()}
	f.calls[c] = struct{}{}
	return func(err error) {
		f.mu.Lock()
		defer f.mu.Unlock()
		delete(f.calls, c)
		took, slowest := f.now().Sub(c.since), f.slowest[id]
		if f.slowest != nil && err == nil && id != "" && (slowest.method == "" || took > slowest.took) {
			f.slowest[id] = criTook{method, took}
		}
	}
}

// sinceByMethod is when the oldest call in flight of each method began. The
// stream of events is none: it is to last.
func (f *callsInFlight) sinceByMethod() map[string]time.Time {
	since := map[string]time.Time{}
	for _, c := range f.inFlight() {
		if _, older := since[c.method]; !older && c.method != "GetContainerEvents" {
			since[c.method] = c.since
		}
	}
	return since
}

// slowestOf is the slowest call about a container or sandbox.
func (f *callsInFlight) slowestOf(id string) criTook {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.slowest[id]
}

// inFlight are the calls in flight, oldest first.
func (f *callsInFlight) inFlight() []criCall {
	f.mu.Lock()
	defer f.mu.Unlock()
	calls := make([]criCall, 0, len(f.calls))
	for c := range f.calls {
		calls = append(calls, *c)
	}
	slices.SortFunc(calls, func(a, b criCall) int {
		return cmp.Or(a.since.Compare(b.since), cmp.Compare(a.method, b.method), cmp.Compare(a.id, b.id))
	})
	return calls
}

// oldest is the call in flight that began first, of those that match; nil if
// none does.
func (f *callsInFlight) oldest(match func(criCall) bool) *criCall {
	calls := f.inFlight()
	if i := slices.IndexFunc(calls, match); i >= 0 {
		return &calls[i]
	}
	return nil
}

// wait is what the PLEG waits for, in the runtime's terms.
type wait struct {
	// method is the CRI's, or the PLEG's own where none of the runtime's calls
	// is under way right now.
	method string
	// uid, namespace and name are the pod's, if it is about one.
	uid, namespace, name string
	// container is the container's name, id the container's or sandbox's.
	container, id string
	since         time.Time
}

// waitsFor explains a call of the PLEG. pods are those listed last.
func (f *callsInFlight) waitsFor(c pleg.Call, pods []*pod.Pod) wait {
	w := wait{method: c.Op, uid: string(c.PodUID), namespace: c.Namespace, name: c.Name, since: c.Since}
	if c.Op != "PodStatus" {
		list := f.oldest(func(in criCall) bool { return in.method == "ListPodSandbox" || in.method == "ListContainers" })
		if list != nil {
			w.method = list.method
		}
		return w
	}
	names := map[string]string{}
	for _, p := range pods {
		if p.UID == c.PodUID {
			names = idsOf(p)
		}
	}
	about := f.oldest(func(in criCall) bool { _, ours := names[in.id]; return ours })
	if about != nil {
		w.method, w.id, w.container = about.method, about.id, names[about.id]
	}
	return w
}

// idsOf maps the ids of a pod's containers and sandboxes to the containers'
// names; a sandbox has none.
func idsOf(p *pod.Pod) map[string]string {
	names := make(map[string]string, len(p.Sandboxes)+len(p.Containers))
	for _, s := range p.Sandboxes {
		names[s.ID] = ""
	}
	for _, c := range p.Containers {
		names[c.ID] = c.Name
	}
	return names
}

// sameAs tells whether two are one wait, looked at twice.
func (w wait) sameAs(o wait) bool { return w.uid == o.uid && w.since.Equal(o.since) }

// text is "PodSandboxStatus of default/db (sandbox 3f9c1b2a44d0e)". full shows
// ids in full.
func (w wait) text(full bool) string {
	text := w.method
	if w.uid == "" {
		return text
	}
	name := w.uid
	if w.name != "" {
		name = pod.DisplayName(w.namespace, w.name)
	}
	kind := "sandbox"
	if w.container != "" {
		name += "/" + w.container
		kind = "container"
	}
	text += " of " + name
	if w.id != "" {
		text += fmt.Sprintf(" (%s %s)", kind, idText(w.id, full))
	}
	return text
}

// idText is an id, cut as crictl cuts it unless it is to be shown in full.
func idText(id string, full bool) string {
	if full {
		return id
	}
	return id[:min(len(id), 13)]
}
