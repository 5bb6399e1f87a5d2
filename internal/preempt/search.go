package preempt

import (
	"slices"
)

// search is a branch and bound over subsets of candidates that free what is
// short with at most so many of each class. It walks the candidates class by
// class in a given order, takes each or not, and backtracks where the rest
// cannot suffice (bound.go), or cannot improve the best set (best.go).
//
// A candidate dominates those after it in its class of which none frees more
// of anything: with them in its place, a set is no better. So passing
// over a candidate passes over those that it dominates; and a candidate that is
// dominated by as many as may be taken is not considered at all.
type search struct {
	items []item
	// start is where each class begins in items, and ends the one before.
	start [classes + 1]int
	short []int64
	work  *int

	// The walk's own.
	left    [classes]int              // that may still be taken
	open    []int64                   // what is still short
	chosen  []int                     // items
	blocked []int                     // by item: how many that dominate it are passed over
	found   func() bool               // called with chosen sufficient: go on?
	promise func(i int, c class) bool // may it get better from here?
}

// item is a candidate in the search.
type item struct {
	*candidate
	// frees is what it frees of what is short, and no more than that.
	frees     []int64
	dominates []int
	bounds
}

func newSearch(by [classes][]*candidate, short []int64, limits [classes]int, order func(a, b *candidate) int, work *int) *search {
	s := &search{short: short, work: work, open: slices.Clone(short)}
	for c := range classes {
		for _, each := range by[c] {
			each.strength = strength(each, short)
		}
		s.start[c] = len(s.items)
		slices.SortFunc(by[c], order)
		s.admit(by[c], limits[c])
	}
	s.start[classes] = len(s.items)
	s.blocked = make([]int, len(s.items))
	for c := range classes {
		s.bound(s.items[s.start[c]:s.start[c+1]], limits[c])
	}
	return s
}

// admit takes the candidates of one class into the search, in order, without
// those that are dominated by as many as the limit.
func (s *search) admit(all []*candidate, limit int) {
	begin := len(s.items)
	for _, c := range all {
		it := item{candidate: c, frees: make([]int64, len(s.short))}
		for j, f := range c.frees {
			it.frees[j] = min(f, max(0, s.short[j]))
		}
		above := 0
		for i := begin; i < len(s.items) && above < limit && *s.work > 0; i++ {
			*s.work--
			if covers(s.items[i].frees, it.frees) {
				above++
			}
		}
		if above < limit {
			s.items = append(s.items, it)
		}
	}
	for i := begin; i < len(s.items); i++ {
		for k := i + 1; k < len(s.items) && *s.work > 0; k++ {
			*s.work--
			if covers(s.items[i].frees, s.items[k].frees) {
				s.items[i].dominates = append(s.items[i].dominates, k)
			}
		}
	}
}

// covers reports whether the first frees no less than the second of anything.
func covers(a, b []int64) bool {
	for j := range a {
		if a[j] < b[j] {
			return false
		}
	}
	return true
}

// first returns some sufficient set within the limits, nil if there is none
// or the work is used up.
func (s *search) first(limits [classes]int) []*candidate {
	var set []*candidate
	s.left, s.promise = limits, nil
	s.found = func() bool {
		set = make([]*candidate, len(s.chosen))
		for i, at := range s.chosen {
			set[i] = s.items[at].candidate
		}
		return false
	}
	s.walk(0, 0)
	return set
}

// walk decides on the items from i on, which is of the class or at its end.
// It returns false to end the search.
func (s *search) walk(i int, c class) bool {
	if *s.work <= 0 {
		return false // and bounds may not be worked out
	}
	if !anyShort(s.open) {
		return s.found()
	}
	var passed []int
	defer func() {
		for _, at := range passed {
			s.block(at, -1)
		}
	}()
	for {
		for c < classes && (i == s.start[c+1] || s.left[c] == 0) {
			c++
			i = s.start[c]
		}
		if c == classes || !s.possible(i, c) || s.promise != nil && !s.promise(i, c) {
			return true
		}
		if *s.work -= 1 + len(s.short); *s.work <= 0 {
			return false
		}
		if s.blocked[i] == 0 && !s.take(i, c) {
			return false
		}
		s.block(i, 1)
		passed = append(passed, i)
		i++
	}
}

// take walks on with the item in the set.
func (s *search) take(i int, c class) bool {
	before := slices.Clone(s.open)
	for j, f := range s.items[i].frees {
		s.open[j] -= f
	}
	s.left[c]--
	s.chosen = append(s.chosen, i)
	more := s.walk(i+1, c)
	s.chosen = s.chosen[:len(s.chosen)-1]
	s.left[c]++
	copy(s.open, before)
	return more
}

func (s *search) block(i, by int) {
	for _, k := range s.items[i].dominates {
		s.blocked[k] += by
	}
}
