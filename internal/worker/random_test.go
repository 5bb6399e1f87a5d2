package worker

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

// choose picks a number in [0, n): rapid's, or that of a seeded generator.
type choose func(n int) int

// retryError knows when to try again.
type retryError struct{ at time.Time }

func (retryError) Error() string                { return "back-off" }
func (e retryError) RetryAt() (time.Time, bool) { return e.at, true }

var _ Retryable = retryError{}

// history makes up one random history of a few pods that compete for two
// names: updates, kills, orphans, failing and terminal operations, wake-ups,
// UIDs that come again, and restarts of the whole process.
type history struct {
	w          *world
	choose     choose
	specs      map[types.UID]spec
	lastWaiter WaiterID
	log        []string
}

type spec struct {
	name      string
	grace     *int64
	exclusive bool
}

var historyUIDs = []types.UID{"u1", "u2", "u3", "u4"}

func newHistory(step stepFunc, choose choose) *history {
	h := &history{choose: choose, specs: map[types.UID]spec{}}
	h.w = newWorld(h.watched(step))
	for _, uid := range historyUIDs {
		s := spec{name: []string{"a", "a", "a", "b"}[choose(4)], exclusive: choose(4) != 0}
		if choose(3) != 0 {
			s.grace = new(int64(choose(40)))
		}
		h.specs[uid] = s
	}
	return h
}

// watched checks that Step leaves the state alone that it was given.
func (h *history) watched(step stepFunc) stepFunc {
	return func(s State, v NameView, now time.Time, ev Event) (State, []Effect) {
		given := s
		given.Waiters = slices.Clone(s.Waiters)
		after, effects := step(s, v, now, ev)
		if !reflect.DeepEqual(given.Waiters, s.Waiters) {
			h.w.check.fail(stepChangesNothingElse, "waiters %v became %v", given.Waiters, s.Waiters)
		}
		return after, effects
	}
}

func (h *history) give(uid types.UID, ev Event) {
	effects := h.w.give(uid, ev)
	h.log = append(h.log, fmt.Sprintf("%s %s\n%s", uid, ev, describe(effects)))
}

// run plays steps random events, then lets every pod end.
func (h *history) run(steps int) []violation {
	for range steps {
		h.w.now = h.w.now.Add(time.Duration(h.choose(3)) * time.Second)
		h.event(historyUIDs[h.choose(len(historyUIDs))])
	}
	// No pod is desired, and everything succeeds: it takes a few rounds.
	for range 6 {
		for _, uid := range h.w.uids() {
			h.give(uid, Reconcile{})
		}
		for _, uid := range h.w.uids() {
			if p := h.w.pods[uid]; p != nil && p.running != nil {
				h.give(uid, OpDone{Op: p.running.Op})
			}
		}
	}
	h.w.check.end(h.w)
	return h.w.check.violations
}

func (h *history) event(uid types.UID) {
	s, p := h.specs[uid], h.w.pods[uid]
	update := Update{Pod: testPod(uid, s.name, s.grace), Type: UpdateType(h.choose(3)), Exclusive: s.exclusive, RuntimeEmpty: h.choose(2) == 0}
	switch h.choose(20) {
	case 0, 1, 2, 3:
		h.give(uid, update)
	case 4:
		update.Pod.DeletionTimestamp = &metav1.Time{Time: h.w.now}
		update.Pod.DeletionGracePeriodSeconds = new(int64(h.choose(30)))
		h.give(uid, update)
	case 5:
		update.Pod.Status.Phase = []v1.PodPhase{v1.PodSucceeded, v1.PodFailed}[h.choose(2)]
		h.give(uid, update)
	case 6, 7:
		h.kill(uid, update)
	case 8:
		h.give(uid, KillRuntime{Pod: &pod.Pod{UID: uid, Name: s.name, Namespace: "ns"}, Exclusive: s.exclusive})
	case 9:
		for _, known := range h.w.uids() {
			h.give(known, Reconcile{Desired: h.choose(3) != 0})
		}
	case 10:
		if h.choose(4) == 0 {
			h.restart()
		}
	case 11, 12, 13:
		if p != nil && p.running == nil && p.wake >= 0 {
			h.give(uid, Due{})
		}
	default:
		if p != nil && p.running != nil {
			h.give(uid, h.outcome(p))
		}
	}
}

func (h *history) kill(uid types.UID, u Update) {
	kill := Kill{Pod: u.Pod, Exclusive: u.Exclusive, RuntimeEmpty: u.RuntimeEmpty, Evict: h.choose(3) == 0}
	if h.choose(2) == 0 {
		kill.Grace = new(int64(h.choose(30)))
	}
	if h.choose(3) != 0 {
		h.lastWaiter++
		kill.Waiter = h.lastWaiter
	}
	h.give(uid, kill)
}

func (h *history) outcome(p *worldPod) OpDone {
	done := OpDone{Op: p.running.Op}
	switch n := h.choose(8); {
	case p.cancelled && n < 5:
		done.Err = context.Canceled
	case n == 0:
		done.Err = errors.New("boom")
	case n == 1:
		done.Err = retryError{h.w.now.Add(time.Duration(h.choose(200)-50) * time.Second)}
	case n == 2:
		done.Err = fmt.Errorf("sync: %w", ErrNetworkNotReady)
	case n == 3 && done.Op == OpSync:
		done.Terminal = true
	}
	return done
}

// restart is a new process: all is forgotten, and what runs is adopted.
func (h *history) restart() {
	var adopted []types.UID
	for _, uid := range h.w.uids() {
		if s := h.w.pods[uid].state; s.Started && s.Phase < Terminated {
			adopted = append(adopted, uid)
		}
	}
	violations := h.w.check.violations
	h.w = &world{step: h.w.step, now: h.w.now, pods: map[types.UID]*worldPod{}, check: newChecker()}
	h.w.check.violations = violations
	h.log = append(h.log, "restart\n")
	for _, uid := range adopted {
		s := h.specs[uid]
		h.give(uid, Adopt{Pod: testPod(uid, s.name, s.grace), Exclusive: s.exclusive})
	}
}
