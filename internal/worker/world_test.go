package worker

import (
	"fmt"
	"maps"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// stepFunc is Step, or a mutant of it.
type stepFunc func(State, NameView, time.Time, Event) (State, []Effect)

// world is a second, dumb shell: it gives events to any number of pods,
// carries the effects out in memory, and has every step checked. Operations
// end, and wake-ups fire, when the test says so.
type world struct {
	step  stepFunc
	now   time.Time
	pods  map[types.UID]*worldPod
	names Names
	check checker
}

// worldPod is one pod from its first event until it is forgotten.
type worldPod struct {
	state State
	// running is the operation in flight, by the effects and not by the state.
	running   *Start
	cancelled bool
	// wake is the wake-up pending, -1 for none.
	wake time.Duration
}

func newWorld(step stepFunc) *world {
	return &world{step: step, now: time.Unix(1_000_000, 0).UTC(), pods: map[types.UID]*worldPod{}, check: newChecker()}
}

// give gives one event to one pod and returns the effects.
func (w *world) give(uid types.UID, ev Event) []Effect {
	p := w.pods[uid]
	if p == nil {
		p = &worldPod{wake: -1}
	}
	before := p.state
	fullName := before.FullName()
	if before.Phase == Unknown {
		fullName = fullNameOf(ev)
	}
	if done, ok := ev.(OpDone); ok && p.running != nil && done.Op == p.running.Op {
		p.running, p.cancelled = nil, false
	}
	if _, ok := ev.(Due); ok {
		p.wake = -1
	}

	w.check.event(uid, before, ev)
	after, effects := w.step(before, w.names.View(fullName, uid, w.live), w.now, ev)
	p.state = after
	if after.Phase == Unknown {
		delete(w.pods, uid)
	} else {
		w.pods[uid] = p
	}
	for _, e := range effects {
		w.check.effect(uid, p, e)
		w.carryOut(p, fullName, uid, e)
	}
	w.check.after(w, uid, fullName, p, before, after)
	return effects
}

func (w *world) carryOut(p *worldPod, fullName string, uid types.UID, e Effect) {
	switch e := e.(type) {
	case Start:
		p.running, p.cancelled, p.wake = &e, false, -1
	case Cancel:
		p.cancelled = true
	case Wake:
		p.wake = e.After
	case Name:
		w.names.Apply(e.Change, fullName, uid, w.live)
	case Exit:
		p.wake = -1
	case Release: // the checker counts them
	}
}

func (w *world) live(uid types.UID) bool {
	p, ok := w.pods[uid]
	return ok && p.state.Phase == Syncing
}

// uids are the pods that are known, in order.
func (w *world) uids() []types.UID { return slices.Sorted(maps.Keys(w.pods)) }

// known is SyncKnownPods. It returns the effects by pod.
func (w *world) known(desired ...types.UID) map[types.UID][]Effect {
	all := map[types.UID][]Effect{}
	for _, uid := range w.uids() {
		all[uid] = w.give(uid, Reconcile{Desired: slices.Contains(desired, uid)})
	}
	return all
}

// testPod makes a spec. A nil grace leaves the field unset.
func testPod(uid types.UID, name string, grace *int64) *v1.Pod {
	p := &v1.Pod{}
	p.UID, p.Name, p.Namespace = uid, name, "ns"
	p.Spec.TerminationGracePeriodSeconds = grace
	return p
}

func seconds(n int64) *int64 { return new(n) }

// describe prints effects, one per line.
func describe(effects []Effect) string {
	text := ""
	for _, e := range effects {
		text += fmt.Sprintln(" ", e)
	}
	return text
}
