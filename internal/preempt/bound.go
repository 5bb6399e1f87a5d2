package preempt

import (
	"slices"
)

// bounds say of an item what the best k of those from it to the end of its
// class could do, for k from 0: each resource for itself, so that no k items
// do better.
type bounds struct {
	// most[j][k] is the most that they free of resource j; mostShares[k] the most
	// in shares of what is short, all resources together.
	most       [][]int64
	mostShares []float64
	// leastMemory[k] and leastCPU[k] are the least that they cost.
	leastMemory, leastCPU []int64
}

// slack allows for the rounding of sums of shares.
const slack = 1e-6

// bound fills in the bounds of the items of one class, of which at most limit
// may be taken.
func (s *search) bound(items []item, limit int) {
	most := make([]ranking[int64], len(s.short))
	var shares ranking[float64]
	var memory, cpu ranking[int64]
	for i := len(items) - 1; i >= 0 && *s.work > 0; i-- {
		it := &items[i]
		for j, f := range it.frees {
			most[j].add(-f, limit)
			it.most = append(it.most, most[j].sums(-1))
		}
		shares.add(-it.strength, limit)
		it.mostShares = shares.sums(-1)
		memory.add(it.memory, limit)
		it.leastMemory = memory.sums(1)
		cpu.add(it.cpu, limit)
		it.leastCPU = cpu.sums(1)
		*s.work -= (len(s.short) + 3) * len(it.mostShares)
	}
}

// ranking keeps the smallest of the values that were added.
type ranking[T int64 | float64] []T

func (r *ranking[T]) add(v T, limit int) {
	at, _ := slices.BinarySearch(*r, v)
	*r = slices.Insert(*r, at, v)
	*r = (*r)[:min(len(*r), limit)]
}

// sums are the sums of the smallest 0, 1, … values, times the sign.
func (r ranking[T]) sums(sign T) []T {
	out := make([]T, len(r)+1)
	for k, v := range r {
		out[k+1] = plus(out[k], sign*v)
	}
	return out
}

// plus adds what is not negative, without overflow.
func plus[T int64 | float64](a, b T) T {
	if sum := a + b; sum >= a {
		return sum
	}
	return a
}

// at is the last of the sums that there are, up to k.
func at[T int64 | float64](sums []T, k int) T { return sums[min(k, len(sums)-1)] }

// rest calls do with the items from which the walk may still take, with how
// many: the one that it is at, and the first of each later class.
func (s *search) rest(i int, c class, do func(it *item, left int)) {
	for ; c < classes; c++ {
		if i < s.start[c+1] && s.left[c] > 0 {
			do(&s.items[i], s.left[c])
		}
		i = s.start[c+1]
	}
}

// possible reports whether the items from i on could free all that is short.
func (s *search) possible(i int, c class) bool {
	for j, open := range s.open {
		if open <= 0 {
			continue
		}
		s.rest(i, c, func(it *item, left int) { open -= min(open, at(it.most[j], left)) })
		if open > 0 {
			return false
		}
	}
	var shares float64
	for j, open := range s.open {
		if open > 0 {
			shares += float64(open) / float64(s.short[j])
		}
	}
	s.rest(i, c, func(it *item, left int) { shares -= at(it.mostShares, left) })
	return shares <= slack
}
