package preempt

import (
	"encoding/binary"
	"slices"
)

// greedy chooses victims among the candidates of one class as the kubelet
// does: in each round the one nearest to what is still short; of equally near
// ones the one that requests less memory, then less cpu, then the later in the
// list, where the chosen one's place is taken by the last
// (getPodsToPreemptByDistance in pkg/kubelet/preemption/preemption.go).
//
// Candidates of one shape are equally near in every round, so a round works out
// distances by shape, and the list is only searched for the last of the nearest.
type greedy struct {
	list   []*candidate
	shapes []shape
	// live are the shapes of which a candidate is still in the list.
	live []int
}

// shape is what candidates that cannot be told apart have in common.
type shape struct {
	frees       []int64
	memory, cpu int64
	live        int
	distance    float64 // in the last round
}

func newGreedy(all []*candidate) *greedy {
	g := &greedy{list: slices.Clone(all)}
	known := map[string]int{}
	var key []byte
	for _, c := range g.list {
		key = binary.BigEndian.AppendUint64(key[:0], uint64(c.memory))
		key = binary.BigEndian.AppendUint64(key, uint64(c.cpu))
		for _, f := range c.frees {
			key = binary.BigEndian.AppendUint64(key, uint64(f))
		}
		i, ok := known[string(key)]
		if !ok {
			i = len(g.shapes)
			known[string(key)] = i
			g.shapes = append(g.shapes, shape{frees: c.frees, memory: c.memory, cpu: c.cpu})
			g.live = append(g.live, i)
		}
		c.shape = i
		g.shapes[i].live++
	}
	return g
}

// choice is the outcome of one round.
type choice struct {
	chosen   *candidate
	distance float64
	// next is who would have been chosen otherwise, nil if there was no other pod;
	// its distance is that of its shape. tied counts others at the same distance.
	next *candidate
	tied int
}

// run chooses until nothing is short or no pod is left. It changes short, and
// calls round, if given, after each choice.
func (g *greedy) run(short []int64, round func(choice)) []*candidate {
	var chosen []*candidate
	for anyShort(short) && len(g.list) > 0 {
		c := g.choose(short)
		chosen = append(chosen, c.chosen)
		subtract(short, c.chosen)
		if round != nil {
			round(c)
		}
	}
	return chosen
}

// subtract takes from what is short what evicting the candidates frees. What
// is not short any more stays as it is: 0 or less.
func subtract(short []int64, evicted ...*candidate) {
	for j := range short {
		for _, c := range evicted {
			if short[j] <= 0 {
				break
			}
			short[j] -= c.frees[j]
		}
	}
}

func anyShort(short []int64) bool {
	return slices.ContainsFunc(short, func(s int64) bool { return s > 0 })
}

// distance measures how much of what is short would still be after an
// eviction: for each resource the share that remains, squared, in the kubelet's
// order and with its rounding. The conversion keeps the compiler from fusing the
// product into the sum, which would round otherwise.
func distance(short, frees []int64) float64 {
	var sum float64
	for j, s := range short {
		if s <= 0 {
			continue
		}
		if remaining := float64(s - frees[j]); remaining > 0 {
			share := remaining / float64(s)
			sum += float64(share * share)
		}
	}
	return sum
}

// compare orders shapes as this round would choose them.
func (s *shape) compare(other *shape) int {
	switch {
	case s.distance != other.distance:
		return ordered(s.distance < other.distance)
	case s.memory != other.memory:
		return ordered(s.memory < other.memory)
	case s.cpu != other.cpu:
		return ordered(s.cpu < other.cpu)
	}
	return 0
}

func ordered(less bool) int {
	if less {
		return -1
	}
	return 1
}

func (g *greedy) choose(short []int64) choice {
	best, second := -1, -1 // the nearest shape, and the nearest that is not equal to it
	equal, tied := 0, 0    // candidates like the best, and at its distance
	for _, i := range g.live {
		s := &g.shapes[i]
		s.distance = distance(short, s.frees)
		sign := -1
		if best >= 0 {
			sign = s.compare(&g.shapes[best])
		}
		switch {
		case best < 0 || s.distance < g.shapes[best].distance:
			tied = s.live
		case s.distance == g.shapes[best].distance:
			tied += s.live
		}
		switch {
		case sign == 0:
			equal += s.live
		case sign < 0:
			best, second, equal = i, best, s.live
		case second < 0 || s.compare(&g.shapes[second]) < 0:
			second = i
		}
	}
	at := g.last(best, len(g.list))
	c := choice{chosen: g.list[at], distance: g.shapes[best].distance, tied: tied - 1}
	switch {
	case equal > 1:
		c.next = g.list[g.last(best, at)]
	case second >= 0:
		c.next = g.list[g.last(second, len(g.list))]
	}
	g.remove(at)
	return c
}

// last finds the last candidate before end that compares equal to a shape.
// There must be one.
func (g *greedy) last(like, end int) int {
	for end--; g.shapes[g.list[end].shape].compare(&g.shapes[like]) != 0; end-- {
	}
	return end
}

// equal returns the candidates left that compare equal to the chosen one, by name.
func (g *greedy) equal(ch choice) []PodRef {
	var refs []PodRef
	for _, c := range g.list {
		if g.shapes[c.shape].compare(&g.shapes[ch.chosen.shape]) == 0 {
			refs = append(refs, refTo(c.pod))
		}
	}
	slices.SortFunc(refs, func(a, b PodRef) int { return naturally(a.String(), b.String()) })
	return refs
}

func (g *greedy) remove(at int) {
	gone := g.list[at].shape
	if g.shapes[gone].live--; g.shapes[gone].live == 0 {
		g.live = slices.DeleteFunc(g.live, func(i int) bool { return i == gone })
	}
	g.list[at] = g.list[len(g.list)-1]
	g.list = g.list[:len(g.list)-1]
}
