package preempt

import (
	"cmp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
)

// classes are the QoS classes in the order in which the kubelet looks for victims:
// the dearest first. A pod whose status names another class is never a victim.
var classes = [...]v1.PodQOSClass{v1.PodQOSGuaranteed, v1.PodQOSBurstable, v1.PodQOSBestEffort}

// Plan computes which pods the kubelet would preempt so that the preemptor, which
// lacks need, can be admitted; with a verdict on each of the pods, which are
// the active ones in the kubelet's order. It is getPodsToPreempt
// (pkg/kubelet/preemption/preemption.go).
func Plan(preemptor *v1.Pod, pods []*v1.Pod, need []Amount) *Result {
	r := &Result{Preemptor: refTo(preemptor), Need: positive(need)}
	if len(need) > 0 {
		r.Signal = need[0].Resource
	}
	all := candidates(preemptor, pods, r.Need)
	if pod.IsCritical(preemptor) && len(r.Need) > 0 {
		r.choose(all)
	}
	r.judge(all)
	r.warn(all)
	return r
}

// choose finds the victims class by class, the dearest class first, each as if
// all cheaper ones were gone; they are killed the other way round.
func (r *Result) choose(all []*candidate) {
	var possible, chosen [len(classes)][]*candidate
	for _, c := range all {
		if c.reason == "" {
			possible[c.class] = append(possible[c.class], c)
		}
	}
	missing := r.short(possible[:]...)
	for j, count := range missing {
		if count > 0 {
			r.Missing = append(r.Missing, Amount{r.Need[j].Resource, count})
		}
	}
	if len(r.Missing) > 0 {
		return
	}
	for class := range classes {
		short := r.short(slices.Concat(chosen[:class], possible[class+1:])...)
		if anyShort(short) {
			for _, c := range possible[class] {
				c.reason = NotNeeded
			}
		}
		chosen[class] = nearest(possible[class], short)
	}
	for _, victims := range slices.Backward(chosen[:]) {
		for _, c := range victims {
			r.Victims = append(r.Victims, c.pod)
			c.reason, c.kill = Victim, len(r.Victims)
		}
	}
}

// short is what is needed when the groups of candidates are gone.
func (r *Result) short(gone ...[]*candidate) []int64 {
	short := make([]int64, len(r.Need))
	for j, n := range r.Need {
		short[j] = n.Count
	}
	subtract(short, slices.Concat(gone...)...)
	return short
}

// nearest chooses victims among the candidates of one class until nothing is short:
// in each round the one nearest to what is; of equally near ones the one that
// requests less memory, then less cpu, then the later in the list, where the chosen
// one's place is taken by the last (getPodsToPreemptByDistance in
// pkg/kubelet/preemption/preemption.go).
func nearest(list []*candidate, short []int64) []*candidate {
	list = slices.Clone(list)
	var chosen []*candidate
	for anyShort(short) {
		at, least := 0, distance(short, list[0].frees)
		for i, c := range list[1:] {
			d, best := distance(short, c.frees), list[at]
			if cmp.Or(cmp.Compare(d, least), cmp.Compare(c.memory, best.memory), cmp.Compare(c.cpu, best.cpu)) <= 0 {
				at, least = i+1, d
			}
		}
		chosen = append(chosen, list[at])
		subtract(short, list[at])
		list[at] = list[len(list)-1]
		list = list[:len(list)-1]
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

// judge makes the verdicts on all pods, the most endangered first.
func (r *Result) judge(all []*candidate) {
	var victims []*candidate
	for _, c := range all {
		if c.kill > 0 {
			victims = append(victims, c)
		}
	}
	for _, c := range all {
		switch {
		case c.reason != "" && c.reason != NotNeeded:
		case len(r.Need) == 0:
			c.reason = NothingShort
		case len(r.Missing) > 0:
			c.reason = NotEnough
		case c.freesNothing():
			c.reason = FreesNothing
		case c.reason == "":
			c.reason = ClassNotReached
		case slices.ContainsFunc(victims, c.equals):
			c.reason = EqualToVictim
		}
	}
	sorted := slices.SortedStableFunc(slices.Values(all), func(a, b *candidate) int {
		return cmp.Or(
			cmp.Compare(slices.Index(byDanger, a.reason), slices.Index(byDanger, b.reason)),
			cmp.Compare(a.kill, b.kill),
			cmp.Compare(b.class, a.class), // cheapest first
			strings.Compare(a.pod.Namespace, b.pod.Namespace), strings.Compare(a.pod.Name, b.pod.Name))
	})
	r.Verdicts = make([]Verdict, len(sorted))
	for i, c := range sorted {
		frees := []Amount{{v1.ResourceCPU, c.cpu}, {v1.ResourceMemory, c.memory}}
		for j, n := range r.Need {
			if n.Resource != v1.ResourceCPU && n.Resource != v1.ResourceMemory {
				frees = append(frees, Amount{n.Resource, c.frees[j]})
			}
		}
		r.Verdicts[i] = Verdict{
			Pod: refTo(c.pod), QOS: pod.QOS(c.pod), Priority: pod.Priority(c.pod), Frees: frees,
			Kill: c.kill, Reason: c.reason,
			Terminating: c.pod.DeletionTimestamp != nil, GraceSeconds: grace(c.pod),
		}
	}
}

// grace is how many seconds the pod may take to end: of one that is terminating what
// was granted then, else its own; 30 s is the API's default.
func grace(p *v1.Pod) int64 {
	switch {
	case p.DeletionGracePeriodSeconds != nil:
		return *p.DeletionGracePeriodSeconds
	case p.Spec.TerminationGracePeriodSeconds != nil:
		return *p.Spec.TerminationGracePeriodSeconds
	}
	return v1.DefaultTerminationGracePeriodSeconds
}
