package preempt

import (
	"cmp"
	"slices"
)

// effort bounds the search for the smallest set: so many comparisons, about
// ten milliseconds.
const effort = 1_000_000

// smallest finds the best set of victims, and reports whether it is proved that
// none has fewer pods (by class), and that none is better at all.
// Stage by stage it settles the least number of guaranteed, then burstable,
// then best-effort pods, and last which ones:
//
//	best := the kubelet's set without what it did not need
//	for each class: are fewer of it enough, with the classes before as settled
//	                and everything after it gone?   yes: best := that, completed
//	of the sets with these numbers: which is the best one?
func (p *planner) smallest() (best *set, fewest, proved bool) {
	best = newSet(p.trim(p.victims))
	work := effort
	for c := range classes {
		limits := best.counts
		if limits[c]--; limits[c] < 0 {
			continue // none is the least
		}
		short := p.short(slices.Concat(p.byClass[c+1:]...))
		s := newSearch(p.useful(c+1), short, limits, byStrength, &work)
		for limits[c] = 0; limits[c] < best.counts[c] && work > 0; limits[c]++ {
			if found := s.first(limits); found != nil {
				best = newSet(p.complete(found, c+1))
				break
			}
		}
	}
	if fewest = work > 0; fewest {
		best = newSearch(p.useful(classes), p.short(), best.counts, byWorth, &work).best(best)
	}
	return best, fewest, work > 0
}

// useful are the possible victims of the classes before end that free
// something of what is short.
func (p *planner) useful(end class) [classes][]*candidate {
	var out [classes][]*candidate
	for c := range end {
		for _, each := range p.byClass[c] {
			if !each.freesNothing() {
				out[c] = append(out[c], each)
			}
		}
	}
	return out
}

// byWorth orders candidates of a class by what a set is judged by, the best
// to take first.
func byWorth(a, b *candidate) int {
	if by := cmp.Or(cmp.Compare(a.priority, b.priority), cmp.Compare(a.memory, b.memory), cmp.Compare(a.cpu, b.cpu)); by != 0 {
		return by
	}
	return byName(a, b)
}

// byStrength orders candidates by how much of what is short they free, the
// most first.
func byStrength(a, b *candidate) int {
	if by := cmp.Compare(b.strength, a.strength); by != 0 {
		return by
	}
	return cmp.Compare(a.index, b.index)
}

// strength is the sum of the shares of what is short that a candidate frees.
func strength(c *candidate, short []int64) float64 {
	var sum float64
	for j, s := range short {
		if s > 0 {
			sum += float64(min(c.frees[j], s)) / float64(s)
		}
	}
	return sum
}

// complete adds victims of the classes from next on to the chosen ones, as
// the kubelet would, and drops what is not needed.
func (p *planner) complete(chosen []*candidate, next class) []*candidate {
	for c := next; c < classes; c++ {
		short := p.short(chosen, slices.Concat(p.byClass[c+1:]...))
		chosen = append(chosen, newGreedy(p.byClass[c]).run(short, nil)...)
	}
	return p.trim(chosen)
}

// trim drops members without which the rest suffices, the dearest first.
func (p *planner) trim(members []*candidate) []*candidate {
	spare := make([]int64, len(p.result.Need))
	for j, n := range p.result.Need {
		for _, c := range members {
			spare[j] = saturate(spare[j], c.frees[j])
		}
		spare[j] -= n.Count
	}
	kept := slices.Clone(members)
	slices.SortFunc(kept, func(a, b *candidate) int {
		return cmp.Or(cmp.Compare(a.class, b.class), byWorth(b, a))
	})
	return slices.DeleteFunc(kept, func(c *candidate) bool {
		for j, f := range c.frees {
			if f > spare[j] {
				return false
			}
		}
		for j, f := range c.frees {
			spare[j] -= f
		}
		return true
	})
}
