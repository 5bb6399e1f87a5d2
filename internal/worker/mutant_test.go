package worker

import (
	"slices"
	"testing"
	"time"
)

// mutants are Steps with one mistake each, under the invariant that shows it.
// A checker that misses one proves nothing by its silence.
var mutants = []struct {
	name      string
	invariant string
	mutate    func(stepFunc) stepFunc
}{
	{"an update brings a stopping pod back", phaseNeverGoesBack, after(func(before State, ev Event, s *State, effects []Effect) []Effect {
		if _, ok := ev.(Update); ok && before.Phase == Terminating && s.Phase == Terminating {
			s.Phase = Syncing
		}
		return effects
	})},
	{"terminated becomes terminating by a kill", phaseNeverGoesBack, after(func(before State, ev Event, s *State, effects []Effect) []Effect {
		if _, ok := ev.(Kill); ok && before.Phase == Terminated && s.Phase == Terminated {
			s.Phase = Terminating
		}
		return effects
	})},
	{"an update does not see the operation in flight", oneOperation, given(func(s *State, _ *NameView, ev Event) {
		if _, ok := ev.(Update); ok {
			s.Running = OpNone
		}
	})},
	{"the goroutine ends too early", oneOperation, after(func(_ State, _ Event, s *State, effects []Effect) []Effect {
		if s.Running == OpCleanup {
			return append(effects, Exit{})
		}
		return effects
	})},
	{"a kill is taken for a pending update", noSyncAfterStop, after(replaceStart(OpTerminate, OpSync))},
	{"Terminate does not wait for Sync", noOverlap, given(func(s *State, _ *NameView, ev Event) {
		if _, ok := ev.(Kill); ok {
			s.Running = OpNone
		}
	})},
	{"Cancel is dropped", outdatedIsCancelled, after(drop[Cancel])},
	{"a shorter grace does not cancel", outdatedIsCancelled, after(func(before State, _ Event, _ *State, effects []Effect) []Effect {
		if before.Phase == Terminating {
			return drop[Cancel](before, nil, nil, effects)
		}
		return effects
	})},
	{"a retry is given more grace", graceShrinks, after(eachStart(func(before State, s *Start) {
		if s.Work.Grace != 0 && !before.LastError.IsZero() {
			s.Work.Grace += 5
		}
	}))},
	{"a grace of 0 is given as such", graceShrinks, after(eachStart(func(_ State, s *Start) {
		if s.Work.Grace == 1 {
			s.Work.Grace = -1
		}
	}))},
	{"a longer kill makes the grace grow", graceShrinks, after(func(before State, ev Event, s *State, effects []Effect) []Effect {
		if k, ok := ev.(Kill); ok && k.Grace != nil && before.Phase == Terminating && s.Phase == Terminating {
			s.Grace = max(s.Grace, *k.Grace)
		}
		return effects
	})},
	{"waiters are released twice", releasedOnce, after(func(_ State, _ Event, _ *State, effects []Effect) []Effect {
		if i := slices.IndexFunc(effects, is[Release]); i >= 0 {
			return append(effects, effects[i])
		}
		return effects
	})},
	{"waiters are kept after their release", releasedOnce, after(func(before State, _ Event, s *State, effects []Effect) []Effect {
		if slices.ContainsFunc(effects, is[Release]) && s.Phase == Terminated {
			s.Waiters = before.Waiters
		}
		return effects
	})},
	{"Release is dropped", releasedOnce, after(drop[Release])},
	{"a kill of a finished pod leaks its waiter", releasedOnce, after(func(before State, _ Event, s *State, effects []Effect) []Effect {
		if before.Phase == Finished && s.Phase == Finished {
			return drop[Release](before, nil, nil, effects)
		}
		return effects
	})},
	{"waiters are released before the pod is down", releasedOnce, after(func(_ State, _ Event, s *State, effects []Effect) []Effect {
		if s.Phase == Terminating && len(s.Waiters) > 0 {
			effects = append(effects, Release{s.Waiters})
			s.Waiters = nil
		}
		return effects
	})},
	{"a late update cleans a finished pod again", nothingAfterFinished, after(func(before State, ev Event, s *State, effects []Effect) []Effect {
		if u, ok := ev.(Update); ok && before.Phase == Finished {
			s.Running = OpCleanup
			return append(effects, Start{Op: OpCleanup, Work: Work{Pod: u.Pod}})
		}
		return effects
	})},
	{"Wake is dropped", noPodIsLost, after(drop[Wake])},
	{"a failed Cleanup is not retried", noPodIsLost, after(func(before State, ev Event, s *State, effects []Effect) []Effect {
		if before.Running == OpCleanup && s.Running == OpNone {
			return drop[Wake](before, ev, s, effects)
		}
		return effects
	})},
	{"the pending update is dropped with the operation", noPodIsLost, after(func(_ State, ev Event, s *State, effects []Effect) []Effect {
		if _, ok := ev.(OpDone); ok && s.Running == OpTerminate {
			s.Running = OpNone
			return drop[Start](*s, ev, s, effects)
		}
		return effects
	})},
	{"the holder of the name is not checked", oneExclusive, given(func(_ *State, v *NameView, _ Event) { *v = NameView{} })},
	{"an adopted pod does not wait for the other holder", oneExclusive, given(func(s *State, v *NameView, _ Event) {
		if s.Started {
			*v = NameView{}
		}
	})},
	{"the name is given back when terminated", oneExclusive, after(func(_ State, _ Event, s *State, effects []Effect) []Effect {
		if s.Phase == Terminated && s.HoldsName {
			s.HoldsName = false
			return append(effects, Name{NameLeave})
		}
		return effects
	})},
	{"a name is never released", nameOfFinishedIsFree, after(func(_ State, _ Event, _ *State, effects []Effect) []Effect {
		return slices.DeleteFunc(effects, func(e Effect) bool { return e == Effect(Name{NameLeave}) })
	})},
	{"an orphan is not stopped", undesiredIsForgotten, func(step stepFunc) stepFunc {
		return func(s State, v NameView, now time.Time, ev Event) (State, []Effect) {
			if r, ok := ev.(Reconcile); ok && s.Phase == Syncing {
				r.Desired = true
				ev = r
			}
			return step(s, v, now, ev)
		}
	}},
	{"waiters are appended in place", stepChangesNothingElse, after(func(before State, _ Event, _ *State, effects []Effect) []Effect {
		if len(before.Waiters) > 0 {
			before.Waiters[0]++
		}
		return effects
	})},
}

func TestCheckerFindsEachMutant(t *testing.T) {
	for _, m := range mutants {
		t.Run(m.name, func(t *testing.T) {
			for seed := range uint64(500) {
				h := seeded(m.mutate(Step), seed)
				if slices.ContainsFunc(h.w.check.violations, func(v violation) bool { return v.invariant == m.invariant }) {
					return
				}
			}
			t.Errorf("500 histories do not show that %q is broken", m.invariant)
		})
	}
}

func TestEveryInvariantHasAMutant(t *testing.T) {
	all := []string{
		phaseNeverGoesBack, oneOperation, noSyncAfterStop, noOverlap, outdatedIsCancelled, graceShrinks, releasedOnce,
		nothingAfterFinished, noPodIsLost, oneExclusive, nameOfFinishedIsFree, undesiredIsForgotten, stepChangesNothingElse,
	}
	for _, invariant := range all {
		found := false
		for _, m := range mutants {
			found = found || m.invariant == invariant
		}
		if !found {
			t.Errorf("%q: no mutant breaks it", invariant)
		}
	}
}

// given makes a mutant that sees other things than it is shown.
func given(change func(*State, *NameView, Event)) func(stepFunc) stepFunc {
	return func(step stepFunc) stepFunc {
		return func(s State, v NameView, now time.Time, ev Event) (State, []Effect) {
			change(&s, &v, ev)
			return step(s, v, now, ev)
		}
	}
}

// edit changes what Step answers.
type edit func(before State, ev Event, s *State, effects []Effect) []Effect

// after makes a mutant that answers other things than Step does.
func after(e edit) func(stepFunc) stepFunc {
	return func(step stepFunc) stepFunc {
		return func(s State, v NameView, now time.Time, ev Event) (State, []Effect) {
			next, effects := step(s, v, now, ev)
			effects = e(s, ev, &next, effects)
			return next, effects
		}
	}
}

func is[E Effect](e Effect) bool {
	_, ok := e.(E)
	return ok
}

// drop is the edit that loses every effect of a kind.
func drop[E Effect](_ State, _ Event, _ *State, effects []Effect) []Effect {
	return slices.DeleteFunc(effects, is[E])
}

func eachStart(change func(before State, s *Start)) edit {
	return func(before State, _ Event, _ *State, effects []Effect) []Effect {
		for i, e := range effects {
			if s, ok := e.(Start); ok {
				change(before, &s)
				effects[i] = s
			}
		}
		return effects
	}
}

func replaceStart(from, to Op) edit {
	return func(_ State, _ Event, s *State, effects []Effect) []Effect {
		for i, e := range effects {
			if start, ok := e.(Start); ok && start.Op == from {
				start.Op, s.Running = to, to
				effects[i] = start
			}
		}
		return effects
	}
}
