package worker

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// The invariants of doc.go, by which a violation names itself.
const (
	phaseNeverGoesBack     = "phase never goes back"
	oneOperation           = "at most one operation in flight"
	noSyncAfterStop        = "no Sync starts after a stop request"
	noOverlap              = "Terminate never overlaps Sync"
	outdatedIsCancelled    = "an outdated operation is cancelled"
	graceShrinks           = "grace, where given, is at least 1 s and never grows"
	releasedOnce           = "every waiter is released exactly once, when the pod is down"
	nothingAfterFinished   = "nothing starts after Finished"
	noPodIsLost            = "every pod that is not Finished has an operation running or a wake-up pending"
	oneExclusive           = "two exclusive pods of one full name never run at once"
	nameOfFinishedIsFree   = "a name is held only by pods that are not Finished"
	undesiredIsForgotten   = "a pod that is not desired ends and is forgotten"
	stepChangesNothingElse = "Step changes nothing that it is given"
)

// checker watches a world. What it knows it has from events and effects; from
// the states it takes only what an invariant is about.
type checker struct {
	violations []violation
	lives      map[types.UID]*life
	// runs lists by full name the exclusive pods that run, first come first.
	runs     map[string][]types.UID
	waiters  map[WaiterID]types.UID
	released map[WaiterID]int
}

type violation struct{ invariant, detail string }

func (v violation) String() string { return v.invariant + ": " + v.detail }

// life is what happened to a pod since it was last unknown.
type life struct {
	stopped, exited bool
	// given is the last grace given to Terminate, 0 if none was.
	given int64
}

func newChecker() checker {
	return checker{
		lives: map[types.UID]*life{}, runs: map[string][]types.UID{},
		waiters: map[WaiterID]types.UID{}, released: map[WaiterID]int{},
	}
}

func (c *checker) fail(invariant, format string, args ...any) {
	c.violations = append(c.violations, violation{invariant, fmt.Sprintf(format, args...)})
}

// event notes what an event asks for before Step sees it.
func (c *checker) event(uid types.UID, before State, ev Event) {
	l := c.lives[uid]
	if l == nil {
		l = &life{}
		c.lives[uid] = l
	}
	switch ev := ev.(type) {
	case Adopt:
		if before.Phase == Unknown && ev.Exclusive {
			c.run(fullNameOf(ev), uid)
		}
	case Update:
		dead := ev.Pod.DeletionTimestamp != nil || hasEnded(ev.Pod)
		// A create for a pod that is stopping is a wish for later.
		l.stopped = l.stopped || dead
	case Kill:
		l.stopped = true
		if ev.Waiter != 0 {
			c.waiters[ev.Waiter] = uid
		}
	case KillRuntime:
		l.stopped = true
		if before.Phase == Unknown && ev.Exclusive {
			c.run(fullNameOf(ev), uid)
		}
	case OpDone:
		l.stopped = l.stopped || ev.Op == OpSync && ev.Terminal && ev.Err == nil
	case Reconcile:
		l.stopped = l.stopped || !ev.Desired
	case Due: // asks for nothing
	}
}

// effect checks one effect before it is carried out.
func (c *checker) effect(uid types.UID, p *worldPod, e Effect) {
	l := c.lives[uid]
	switch e := e.(type) {
	case Start:
		c.start(uid, p, l, e)
	case Release:
		for _, id := range e.Waiters {
			c.released[id]++
			owner, ok := c.waiters[id]
			switch {
			case !ok || owner != uid:
				c.fail(releasedOnce, "%s releases %d, which waits for %q", uid, id, owner)
			case c.released[id] > 1:
				c.fail(releasedOnce, "%d was released before", id)
			case p.state.Phase == Syncing || p.state.Phase == Terminating:
				c.fail(releasedOnce, "%d is released while %s is %s", id, uid, p.state.Phase)
			}
		}
	case Exit:
		if p.running != nil {
			c.fail(oneOperation, "%s exits with %s in flight", uid, p.running.Op)
		}
		l.exited = true
		for name := range c.runs {
			c.runs[name] = slices.DeleteFunc(c.runs[name], func(u types.UID) bool { return u == uid })
		}
	case Cancel, Name, Wake: // after looks at what they lead to
	}
}

func (c *checker) start(uid types.UID, p *worldPod, l *life, e Start) {
	switch {
	case p.running != nil && (p.running.Op == OpSync) != (e.Op == OpSync):
		c.fail(noOverlap, "%s starts %s beside %s", uid, e.Op, p.running.Op)
	case p.running != nil:
		c.fail(oneOperation, "%s starts %s beside %s", uid, e.Op, p.running.Op)
	}
	if l.exited {
		c.fail(nothingAfterFinished, "%s starts %s", uid, e.Op)
	}
	if e.Op == OpSync {
		if l.stopped {
			c.fail(noSyncAfterStop, "%s", uid)
		}
		if e.Work.Exclusive {
			name := p.state.FullName()
			c.run(name, uid)
			if first := c.runs[name][0]; first != uid {
				c.fail(oneExclusive, "%s starts while %s runs", uid, first)
			}
		}
	}
	if grace := e.Work.Grace; e.Op == OpTerminate && grace != 0 {
		if grace < 1 || l.given != 0 && grace > l.given {
			c.fail(graceShrinks, "%s is given %d after %d", uid, grace, l.given)
		}
		l.given = grace
	}
}

// run notes that an exclusive pod runs.
func (c *checker) run(name string, uid types.UID) {
	if !slices.Contains(c.runs[name], uid) {
		c.runs[name] = append(c.runs[name], uid)
	}
}

// after checks the world once all effects of a step are carried out.
func (c *checker) after(w *world, uid types.UID, fullName string, p *worldPod, before, after State) {
	l := c.lives[uid]
	if after.Phase != Unknown && after.Phase < before.Phase {
		c.fail(phaseNeverGoesBack, "%s goes from %s to %s", uid, before.Phase, after.Phase)
	}
	if before.Grace != 0 && after.Phase != Unknown && after.Grace > before.Grace {
		c.fail(graceShrinks, "the grace of %s goes from %d to %d", uid, before.Grace, after.Grace)
	}
	if r := p.running; r != nil && !p.cancelled {
		switch {
		case r.Op == OpSync && l.stopped:
			c.fail(outdatedIsCancelled, "%s still syncs", uid)
		case r.Op == OpTerminate && r.Work.Grace > after.Grace:
			c.fail(outdatedIsCancelled, "%s still terminates with a grace of %d, not %d", uid, r.Work.Grace, after.Grace)
		}
	}
	if after.Phase != Unknown && after.Phase != Finished && p.running == nil && p.wake < 0 {
		c.fail(noPodIsLost, "%s is %s", uid, after)
	}
	for _, holder := range w.names.Holders(fullName) {
		if h, ok := w.pods[holder]; !ok || h.state.Phase == Finished {
			c.fail(nameOfFinishedIsFree, "%s holds %s", holder, fullName)
		}
	}
	if after.Phase == Unknown {
		delete(c.lives, uid)
	}
}

// end checks a world in which no pod is desired, and in which every
// operation was let end.
func (c *checker) end(w *world) {
	for _, uid := range w.uids() {
		c.fail(undesiredIsForgotten, "%s is %s", uid, w.pods[uid].state)
	}
	for id, uid := range c.waiters {
		if c.released[id] != 1 {
			c.fail(releasedOnce, "%d, which waits for %s, was released %d times", id, uid, c.released[id])
		}
	}
}
