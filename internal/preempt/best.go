package preempt

import (
	"slices"
)

// best returns the best set with as many of each class as the incumbent, which
// is the incumbent itself if the work is used up before a better one is met.
// None with fewer suffices, which is settled before. The items are in order of
// worth, so that those ahead of the walk are cheap in priority.
func (s *search) best(incumbent *set) *set {
	s.left = incumbent.counts
	s.found = func() bool {
		members := make([]*candidate, len(s.chosen))
		for i, at := range s.chosen {
			members[i] = s.items[at].candidate
		}
		if met := newSet(members); met.betterThan(incumbent) {
			incumbent = met
		}
		return true
	}
	var priorities []int32
	s.promise = func(i int, c class) bool {
		priorities = s.floor(priorities[:0], i, c)
		*s.work -= len(priorities)
		if by := slices.Compare(priorities, incumbent.priorities); by != 0 {
			return by < 0
		}
		memory, cpu := s.cost(i, c)
		return memory < incumbent.memory || memory == incumbent.memory && cpu <= incumbent.cpu
	}
	s.walk(0, 0)
	return incumbent
}

func (s *set) betterThan(t *set) bool {
	sign, _ := s.compare(t)
	return sign < 0
}

// floor is the lowest priorities, highest first, that a set may have which
// contains the chosen and takes all that it may from item i on.
func (s *search) floor(priorities []int32, i int, c class) []int32 {
	for _, at := range s.chosen {
		priorities = append(priorities, s.items[at].priority)
	}
	for ; c < classes; c++ {
		for k := i; k < min(i+s.left[c], s.start[c+1]); k++ {
			priorities = append(priorities, s.items[k].priority)
		}
		i = s.start[c+1]
	}
	slices.SortFunc(priorities, func(a, b int32) int { return int(b) - int(a) })
	return priorities
}

// cost is the least memory and cpu that such a set may free.
func (s *search) cost(i int, c class) (memory, cpu int64) {
	for _, at := range s.chosen {
		memory, cpu = saturate(memory, s.items[at].memory), saturate(cpu, s.items[at].cpu)
	}
	s.rest(i, c, func(it *item, left int) {
		memory = saturate(memory, at(it.leastMemory, left))
		cpu = saturate(cpu, at(it.leastCPU, left))
	})
	return memory, cpu
}
