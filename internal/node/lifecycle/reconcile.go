package lifecycle

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Input is what the entries are compared with.
type Input struct {
	// Desired is every pod that some source wants, by UID; no two of one full name.
	Desired map[types.UID]Desired
	// Known are the pods that a worker knows.
	Known map[types.UID]bool
	// InPlace reports whether a pod that runs can follow to another version of its
	// manifest; nil: none can.
	InPlace func(running Entry, version Desired) bool
	// Grace in seconds shortens that of the pods which are not desired any more; nil
	// is their own.
	Grace *int64
}

// Reconcile compares what is desired with the entries and returns the new ones,
// and what is to be done: first what stops, then what is removed, then what is to
// start, each in the order of names (HandlePodCleanups in
// pkg/kubelet/kubelet_pods.go, and what its handlers of sources do). It changes
// nothing that it is given.
func Reconcile(entries map[types.UID]Entry, in Input, now time.Time) (map[types.UID]Entry, []Action) {
	next := maps.Clone(entries)
	if next == nil {
		next = map[types.UID]Entry{}
	}
	// No pod's steps depend on another's: what they come to is put in order once it is
	// known, which is little where little has changed.
	var gone, come outcomes
	for uid, e := range entries {
		step := func(ev Event) {
			var did []Action
			next[uid], did = Step(next[uid], now, ev)
			gone.add(e.Pod, did)
		}
		if _, desired := in.Desired[uid]; !desired {
			step(Undesire{in.Grace})
		}
		if !in.Known[uid] {
			step(Forgotten{})
		}
	}
	for uid, d := range in.Desired {
		var did []Action
		next[uid], did = Step(next[uid], now, in.desireEvent(next[uid], d))
		come.add(d.Pod, did)
	}
	stop, start := gone.sorted(), []Action(nil)
	for _, a := range come.sorted() {
		if _, isAttempt := a.(Attempt); isAttempt {
			start = append(start, a)
		} else {
			stop = append(stop, a)
		}
	}
	maps.DeleteFunc(next, func(_ types.UID, e Entry) bool { return e.Phase == None })
	return next, append(stop, start...)
}

// outcomes are the actions of pods.
type outcomes []outcome

type outcome struct {
	pod     *v1.Pod
	actions []Action
}

func (o *outcomes) add(p *v1.Pod, did []Action) {
	if len(did) > 0 {
		*o = append(*o, outcome{p, did})
	}
}

// sorted returns the actions in the order of their pods' names.
func (o outcomes) sorted() []Action {
	slices.SortStableFunc(o, func(a, b outcome) int { return CompareNames(a.pod, b.pod) })
	var all []Action
	for _, did := range o {
		all = append(all, did.actions...)
	}
	return all
}

// desireEvent returns the event for an entry of a desired pod.
func (in Input) desireEvent(e Entry, d Desired) Desire {
	changed := e.Phase == Active && !bytes.Equal(e.Document, d.Document)
	return Desire{Desired: d, Known: in.Known[d.UID()], InPlace: changed && in.InPlace != nil && in.InPlace(e, d)}
}

// CompareNames orders pods by namespace, name and UID.
func CompareNames(a, b *v1.Pod) int {
	return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name), cmp.Compare(a.UID, b.UID))
}
