package preempt

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
)

// TestSmallestSetEqualsBruteForce compares with every subset, judged by
// separate code.
func TestSmallestSetEqualsBruteForce(t *testing.T) {
	compared, better, worseBy := 0, 0, map[Criterion]int{}
	for seed := uint64(0); compared < 10_000; seed++ {
		d := newDice(seed)
		pods, need := d.pods(d.IntN(13)), d.need()
		r := Plan(critical(), pods, need)
		if len(r.Victims) == 0 {
			continue
		}
		compared++
		want := bruteForce(pods, need)
		if got := names(r.Smallest.Pods); !slices.Equal(got, want) {
			t.Fatalf("seed %d, need %v: %v, by brute force %v (the kubelet %v)", seed, need, got, want, names(r.Victims))
		}
		if !r.Smallest.Proved {
			t.Fatalf("seed %d: not proved with %d pods", seed, len(pods))
		}
		if r.Smallest.Better != NoBetter {
			better++
		}
		worseBy[r.Smallest.Better]++
	}
	for c := range Criterion(len(criterionNames)) {
		if worseBy[c] == 0 {
			t.Errorf("no node shows %s", c)
		}
	}
	t.Logf("%d nodes, the kubelet's set is another in %d: %v", compared, better, worseBy)
}

// one is a possible victim, or the sums of a subset of them.
type one struct {
	counts      [3]int
	memory, cpu int64
	frees       [3]int64
}

// bruteForce returns the names of the best of all sufficient subsets.
func bruteForce(pods []*v1.Pod, need []Amount) []string {
	var possible []*v1.Pod
	for _, p := range pods {
		if mayPreempt(critical(), p) {
			possible = append(possible, p)
		}
	}
	slices.SortFunc(possible, func(a, b *v1.Pod) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	each := make([]one, len(possible))
	for i, p := range possible {
		o := &each[i]
		o.counts[map[v1.PodQOSClass]int{v1.PodQOSGuaranteed: 0, v1.PodQOSBurstable: 1, v1.PodQOSBestEffort: 2}[pod.QOS(p)]] = 1
		o.memory, o.cpu = plainRequest(p, v1.ResourceMemory), plainRequest(p, v1.ResourceCPU)
		for j, n := range need {
			o.frees[j] = plainRequest(p, n.Resource)
		}
	}
	sums, best := make([]one, 1<<len(possible)), -1
	for subset := range sums {
		if subset == 0 {
			continue
		}
		last := bits.Len(uint(subset)) - 1
		s := sums[subset&^(1<<last)]
		for c, n := range each[last].counts {
			s.counts[c] += n
		}
		s.memory, s.cpu = s.memory+each[last].memory, s.cpu+each[last].cpu
		enough := true
		for j, n := range need {
			s.frees[j] += each[last].frees[j]
			enough = enough && s.frees[j] >= n.Count
		}
		sums[subset] = s
		if enough && (best < 0 || isBetter(s, sums[best], chosen(possible, subset), chosen(possible, best))) {
			best = subset
		}
	}
	out := []string{}
	for _, p := range chosen(possible, best)() {
		out = append(out, refTo(p).String())
	}
	return out
}

// chosen lists a subset, by name.
func chosen(possible []*v1.Pod, subset int) func() []*v1.Pod {
	return func() []*v1.Pod {
		var out []*v1.Pod
		for i, p := range possible {
			if subset&(1<<i) != 0 {
				out = append(out, p)
			}
		}
		return out
	}
}

func isBetter(a, b one, ofA, ofB func() []*v1.Pod) bool {
	if by := slices.Compare(a.counts[:], b.counts[:]); by != 0 {
		return by < 0
	}
	priorities := func(pods []*v1.Pod) []int32 {
		out := make([]int32, len(pods))
		for i, p := range pods {
			if p.Spec.Priority != nil {
				out[i] = -*p.Spec.Priority
			}
		}
		slices.Sort(out)
		return out
	}
	// The negated priorities are sorted lowest first, so the larger list is better.
	return cmp.Or(slices.Compare(priorities(ofB()), priorities(ofA())),
		cmp.Compare(a.memory, b.memory), cmp.Compare(a.cpu, b.cpu), slices.Compare(names(ofA()), names(ofB()))) < 0
}
