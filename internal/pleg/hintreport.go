package pleg

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

// hintReport merges the hints about one container or sandbox. States only move forward:
// the last state of several hints counts. The zero value is that of no hint.
type hintReport struct {
	state   pod.State
	deleted bool
	// opaque: a hint did not say what happened.
	opaque bool
}

func (r hintReport) merge(o hintReport) hintReport {
	return hintReport{state: max(r.state, o.state), deleted: r.deleted || o.deleted, opaque: r.opaque || o.opaque}
}

// alreadyObserved reports whether the newest listing shows what was reported of a
// container or sandbox, or a later state: then a relist shows nothing new. A listing in
// flight, of all pods or of this one, may be older than a deletion and show the container
// again.
func (l *loop) alreadyObserved(uid types.UID, id string, r hintReport) bool {
	rec := l.records[l.ids[id]]
	state, listed := pod.Unknown, false
	if rec != nil {
		state, listed = stateIn(rec.seen, id)
	}
	switch {
	case r.opaque:
		return false
	case r.deleted:
		return !listed && l.full == nil && l.podRelists[uid] == nil
	}
	return listed && state >= r.state
}

// isServed reports whether a request needs no relist any more, because a listing shows
// all that its hints reported.
func (l *loop) isServed(uid types.UID, q relistRequest) bool {
	if q.unconditional || q.awaited {
		return false
	}
	for id, r := range q.reports {
		if !l.alreadyObserved(uid, id, r) {
			return false
		}
	}
	return true
}

// stateIn returns the state of a container or sandbox in a listing of its pod.
func stateIn(p *pod.Pod, id string) (state pod.State, listed bool) {
	if p == nil {
		return pod.Unknown, false
	}
	for _, c := range p.Containers {
		if c.ID == id {
			return c.State, true
		}
	}
	for _, s := range p.Sandboxes {
		if s.ID == id {
			return s.State, true
		}
	}
	return pod.Unknown, false
}

// indexIDs maps the ids in a pod's newest listing to the pod, in place of those in the
// last one.
func (l *loop) indexIDs(rec *record, last *pod.Pod) {
	eachID(last, func(id string) { delete(l.ids, id) })
	eachID(rec.seen, func(id string) { l.ids[id] = rec.uid })
}

func eachID(p *pod.Pod, f func(id string)) {
	if p != nil {
		eachContainer(p, func(id, _ string) { f(id) })
	}
}
