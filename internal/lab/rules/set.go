package rules

import (
	"fmt"
	"hash/fnv"
	"slices"
)

// Counted is a rule of a Set, with its counts.
type Counted struct {
	Rule
	// Number is the rule's own in its set, from 1. No other rule has it, also after the rule
	// is removed.
	Number  int
	Matched int // calls that matched
	Fired   int

	followed bool // by Follow
}

// Set is an ordered set of rules with their counts. The zero value is empty.
type Set struct {
	Rules []*Counted // in the order in which they act
	last  int        // number
}

// NewSet returns a set of rules whose counts are 0.
func NewSet(all []Rule) *Set {
	s := &Set{}
	s.Rules = s.renew(nil, all, false)
	return s
}

// Change removes rules, then adds others after those that stay. A rule that is removed and
// added again with the same text stays the same rule: its number and counts are kept.
type Change struct {
	Remove []int // numbers
	Add    []Rule
}

// Apply changes the set. With an error it stays as it is.
func (s *Set) Apply(c Change) error {
	for _, n := range c.Remove {
		if !slices.ContainsFunc(s.Rules, func(r *Counted) bool { return r.Number == n }) {
			return fmt.Errorf("there is no rule %d", n)
		}
	}
	kept, removed := s.split(func(r *Counted) bool { return slices.Contains(c.Remove, r.Number) })
	if err := checkCount(kept, c.Add); err != nil {
		return err
	}
	s.Rules = append(kept, s.renew(removed, c.Add, false)...)
	return nil
}

// Follow replaces the rules of the last Follow, at their place, as Change does; the others
// stay. With an error the set stays as it is.
func (s *Set) Follow(all []Rule) error {
	kept, removed := s.split(func(r *Counted) bool { return r.followed })
	at := slices.IndexFunc(s.Rules, func(r *Counted) bool { return r.followed })
	if at < 0 {
		at = len(kept)
	}
	if err := checkCount(kept, all); err != nil {
		return err
	}
	s.Rules = slices.Insert(kept, at, s.renew(removed, all, true)...)
	return nil
}

// split returns the rules that stay, and the others.
func (s *Set) split(removes func(*Counted) bool) (kept, removed []*Counted) {
	for _, r := range s.Rules {
		if removes(r) {
			removed = append(removed, r)
		} else {
			kept = append(kept, r)
		}
	}
	return kept, removed
}

// checkCount returns an error if rules are too many.
func checkCount(kept []*Counted, fresh []Rule) error {
	if n := len(kept) + len(fresh); n > maxRules {
		return fmt.Errorf("%d rules, more than %d", n, maxRules)
	}
	return nil
}

// renew returns counted rules, each with the number and the counts of one with the same text
// among those that are removed. Firings point at the removed ones, which are left alone.
func (s *Set) renew(removed []*Counted, all []Rule, followed bool) []*Counted {
	var fresh []*Counted
	for _, rule := range all {
		r := &Counted{Rule: rule, followed: followed}
		if i := slices.IndexFunc(removed, func(old *Counted) bool { return old.Text == rule.Text }); i >= 0 {
			old := removed[i]
			removed = slices.Delete(slices.Clone(removed), i, i+1)
			r.Number, r.Matched, r.Fired = old.Number, old.Matched, old.Fired
		} else {
			s.last++
			r.Number = s.last
		}
		fresh = append(fresh, r)
	}
	return fresh
}

// Decide returns the rules that fire for a call, in their order. One that ends the call is
// the last.
func (s *Set) Decide(c Call) []*Firing {
	var fired []*Firing
	ended := false
	for _, r := range s.Rules {
		if !r.matches(c) {
			continue
		}
		r.Matched++
		if ended || r.Matched < r.First || r.Last > 0 && r.Matched > r.Last {
			continue
		}
		if r.Probability > 0 && draw(r.Seed, r.Number, r.Matched) >= r.Probability {
			continue
		}
		r.Fired++
		fired = append(fired, &Firing{Rule: &r.Rule, Number: r.Number, Count: r.Fired})
		ended = r.isFinal(c)
	}
	return fired
}

// Firing is a rule that fires.
type Firing struct {
	*Rule
	Number int // of the rule
	Count  int // of the firings of the rule, from 1
}

// draw returns a number in [0, 1), always the same for a seed, a rule and a call.
func draw(seed uint64, rule, call int) float64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d/%d/%d", seed, rule, call)
	x := h.Sum64() // its low bits differ most: mix them upwards
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return float64(x>>11) / (1 << 53)
}
