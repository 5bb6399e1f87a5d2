package preempt

import (
	"cmp"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// verdicts judges every pod and puts the most endangered first.
func (p *planner) verdicts() {
	order := slices.Clone(p.all)
	reasons := make([]Reason, len(p.all))
	for i, c := range p.all {
		reasons[i] = p.reason(c)
	}
	slices.SortFunc(order, func(a, b *candidate) int {
		x, y := p.judged[a.index], p.judged[b.index]
		if by := cmp.Or(
			cmp.Compare(reasons[a.index], reasons[b.index]),
			cmp.Compare(x.kill, y.kill),
			cmp.Compare(b.class, a.class), // cheapest first
			cmp.Compare(x.distance, y.distance),
			cmp.Compare(a.memory, b.memory), cmp.Compare(a.cpu, b.cpu)); by != 0 {
			return by
		}
		return byName(a, b)
	})
	p.result.Verdicts = make([]Verdict, len(order))
	for i, c := range order {
		j := p.judged[c.index]
		v := Verdict{
			Pod: refTo(c.pod), QOS: c.qos, Priority: c.priority, Frees: p.frees(c),
			Kill: j.kill, Reason: reasons[c.index],
			Terminating: c.pod.DeletionTimestamp != nil, GraceSeconds: grace(c.pod),
		}
		if v.Reason == Victim || v.Reason == NotNeeded {
			v.Round, v.Distance = j.round, j.distance
		}
		p.result.Verdicts[i] = v
	}
}

// reason is why the candidate is a victim or safe.
func (p *planner) reason(c *candidate) Reason {
	switch {
	case c.spared != Victim:
		return c.spared
	case p.judged[c.index].kill > 0:
		return Victim
	case len(p.result.Need) == 0:
		return NothingShort
	case len(p.result.Missing) > 0:
		return NotEnough
	case c.freesNothing():
		return FreesNothing
	case p.judged[c.index].reached:
		return NotNeeded
	}
	return ClassNotReached
}

// frees is what evicting the candidate frees of cpu, memory and what is short.
func (p *planner) frees(c *candidate) []Amount {
	out := make([]Amount, 0, 2+len(p.result.Need))
	out = append(out, Amount{v1.ResourceCPU, c.cpu}, Amount{v1.ResourceMemory, c.memory})
	for j, n := range p.result.Need {
		if n.Resource != v1.ResourceCPU && n.Resource != v1.ResourceMemory {
			out = append(out, Amount{n.Resource, c.frees[j]})
		}
	}
	return out
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

// byName orders candidates by namespace and name; should both be the same, as
// they were given.
func byName(a, b *candidate) int {
	if by := strings.Compare(a.pod.Namespace, b.pod.Namespace); by != 0 {
		return by
	}
	if by := strings.Compare(a.pod.Name, b.pod.Name); by != 0 {
		return by
	}
	return cmp.Compare(a.index, b.index)
}
