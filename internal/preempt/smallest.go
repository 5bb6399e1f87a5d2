package preempt

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	v1 "k8s.io/api/core/v1"
)

// Smallest is the second opinion: the set of possible victims that suffices
// with the fewest guaranteed pods, then the fewest burstable, then best-effort
// ones; then with the lowest priorities, the highest compared first; then with
// the least memory freed, then cpu; then the first by names. The kubelet's own
// set, chosen one by one, is often larger. Nothing acts on this one.
type Smallest struct {
	// Pods and Victims are the set, by name.
	Pods    []*v1.Pod `json:"-"`
	Victims []PodRef  `json:"victims"`
	// Fewest: it is proved that no set has fewer pods, counted class by class.
	// Proved: nor is any other set better. Where they are false the search was
	// given up, and this is the best set that it met.
	Fewest bool `json:"fewest"`
	Proved bool `json:"proved"`
	// Better is the first criterion in which it beats the kubelet's set;
	// NoBetter if it is the same set.
	Better Criterion `json:"better"`
	// Spared are the kubelet's victims that are not in the set, Instead those in
	// the set that are not the kubelet's; by name.
	Spared  []PodRef `json:"spared,omitempty"`
	Instead []PodRef `json:"instead,omitempty"`
}

// Criterion is what makes one set of victims better than another. The zero
// value is NoBetter. Each decides only if those before it are equal.
type Criterion uint8

const (
	// NoBetter: the sets are the same.
	NoBetter Criterion = iota
	// FewerGuaranteed: by the number of guaranteed pods.
	FewerGuaranteed
	// FewerBurstable: by the number of burstable pods.
	FewerBurstable
	// FewerBestEffort: by the number of best-effort pods.
	FewerBestEffort
	// LowerPriorities: sorted, highest first, the first that differs is lower.
	LowerPriorities
	// LessMemoryFreed: by the sum over the set.
	LessMemoryFreed
	// LessCPUFreed: likewise.
	LessCPUFreed
	// EarlierNames: sorted, the first that differs is earlier.
	EarlierNames
)

var criterionNames = [...]string{
	NoBetter: "NoBetter", FewerGuaranteed: "FewerGuaranteed", FewerBurstable: "FewerBurstable", FewerBestEffort: "FewerBestEffort",
	LowerPriorities: "LowerPriorities", LessMemoryFreed: "LessMemoryFreed", LessCPUFreed: "LessCPUFreed", EarlierNames: "EarlierNames",
}

func (c Criterion) String() string {
	if int(c) < len(criterionNames) {
		return criterionNames[c]
	}
	return fmt.Sprintf("Criterion(%d)", uint8(c))
}

// MarshalText writes the name.
func (c Criterion) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// set is a set of victims with what it is judged by.
type set struct {
	members     []*candidate // by name
	counts      [classes]int
	priorities  []int32 // highest first
	memory, cpu int64
}

func newSet(members []*candidate) *set {
	s := &set{members: slices.Clone(members)}
	slices.SortFunc(s.members, byName)
	for _, c := range s.members {
		s.counts[c.class]++
		s.priorities = append(s.priorities, c.priority)
		s.memory, s.cpu = saturate(s.memory, c.memory), saturate(s.cpu, c.cpu)
	}
	slices.SortFunc(s.priorities, func(a, b int32) int { return cmp.Compare(b, a) })
	return s
}

// saturate adds two amounts that are not negative, and stops at the largest.
func saturate(a, b int64) int64 {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}

// compare reports whether s is better (negative) or worse than t, and in what.
func (s *set) compare(t *set) (int, Criterion) {
	for _, by := range []struct {
		sign int
		in   Criterion
	}{
		{cmp.Compare(s.counts[guaranteed], t.counts[guaranteed]), FewerGuaranteed},
		{cmp.Compare(s.counts[burstable], t.counts[burstable]), FewerBurstable},
		{cmp.Compare(s.counts[bestEffort], t.counts[bestEffort]), FewerBestEffort},
		{slices.Compare(s.priorities, t.priorities), LowerPriorities},
		{cmp.Compare(s.memory, t.memory), LessMemoryFreed},
		{cmp.Compare(s.cpu, t.cpu), LessCPUFreed},
		{slices.CompareFunc(s.members, t.members, byName), EarlierNames},
	} {
		if by.sign != 0 {
			return by.sign, by.in
		}
	}
	return 0, NoBetter
}

// secondOpinion looks for the smallest set and compares it with the kubelet's.
func (p *planner) secondOpinion() *Smallest {
	kubelet := newSet(p.victims)
	best, fewest, proved := p.smallest()
	_, better := best.compare(kubelet)
	return &Smallest{
		Pods:    podsOf(best.members),
		Victims: refsOf(best.members),
		Fewest:  fewest,
		Proved:  proved,
		Better:  better,
		Spared:  refsOf(missingFrom(best.members, kubelet.members)),
		Instead: refsOf(missingFrom(kubelet.members, best.members)),
	}
}

func podsOf(members []*candidate) []*v1.Pod {
	out := make([]*v1.Pod, len(members))
	for i, c := range members {
		out[i] = c.pod
	}
	return out
}

func refsOf(members []*candidate) []PodRef {
	out := make([]PodRef, len(members))
	for i, c := range members {
		out[i] = refTo(c.pod)
	}
	return out
}

// missingFrom returns the members of all that are not among some.
func missingFrom(some, all []*candidate) []*candidate {
	in := make(map[*candidate]bool, len(some))
	for _, c := range some {
		in[c] = true
	}
	var missing []*candidate
	for _, c := range all {
		if !in[c] {
			missing = append(missing, c)
		}
	}
	return missing
}
