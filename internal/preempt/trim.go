package preempt

import (
	"cmp"
	"math"
	"slices"
)

// trim returns the victims without which the others free enough: the kubelet never
// reconsiders a choice. The dearest are dropped first: by class, then by priority,
// memory and cpu.
func (p *planner) trim() []PodRef {
	spare := make([]int64, len(p.result.Need))
	for j, n := range p.result.Need {
		for _, c := range p.victims {
			spare[j] = saturate(spare[j], c.frees[j])
		}
		spare[j] -= n.Count
	}
	var dropped []PodRef
	for _, c := range slices.SortedFunc(slices.Values(p.victims), dearestFirst) {
		rest := slices.Clone(spare)
		for j, f := range c.frees {
			rest[j] -= f
		}
		if slices.Min(rest) >= 0 {
			spare = rest
			dropped = append(dropped, refTo(c.pod))
		}
	}
	return dropped
}

func dearestFirst(a, b *candidate) int {
	return cmp.Or(cmp.Compare(a.class, b.class), cmp.Compare(b.priority, a.priority),
		cmp.Compare(b.memory, a.memory), cmp.Compare(b.cpu, a.cpu), byName(b, a))
}

// saturate adds two amounts that are not negative, and stops at the largest.
func saturate(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
