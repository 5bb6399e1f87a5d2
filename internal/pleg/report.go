package pleg

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

// report is what hints told of one container or sandbox. States only move forward, so
// that of several hints the last state counts. The zero value has told nothing.
type report struct {
	state   pod.State
	deleted bool
	// opaque: a hint did not say what happened.
	opaque bool
}

func (t report) merge(o report) report {
	return report{state: max(t.state, o.state), deleted: t.deleted || o.deleted, opaque: t.opaque || o.opaque}
}

// shown reports whether the newest listing shows what was told of a pod's id, or what
// followed from it: then a relist shows nothing else. A listing in flight, of all pods
// or of this one, may be older than a deletion and show the container again.
func (l *loop) shown(uid types.UID, id string, t report) bool {
	rec := l.records[l.ids[id]]
	state, listed := pod.Unknown, false
	if rec != nil {
		state, listed = stateIn(rec.seen, id)
	}
	switch {
	case t.opaque:
		return false
	case t.deleted:
		return !listed && l.full == nil && l.singles[uid] == nil
	}
	return listed && state >= t.state
}

// served reports whether a mark needs no relist any more, because a listing shows
// all that its hints told.
func (l *loop) served(uid types.UID, m mark) bool {
	if m.blind || m.asked {
		return false
	}
	for id, t := range m.reports {
		if !l.shown(uid, id, t) {
			return false
		}
	}
	return true
}

// stateIn is the state of a container or sandbox in a listing of its pod.
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

// index maps the ids of a pod's newest listing to it, in place of those of the last.
func (l *loop) index(rec *record, last *pod.Pod) {
	eachID(last, func(id string) { delete(l.ids, id) })
	eachID(rec.seen, func(id string) { l.ids[id] = rec.uid })
}

func eachID(p *pod.Pod, f func(id string)) {
	if p != nil {
		each(p, func(id, _ string) { f(id) })
	}
}
