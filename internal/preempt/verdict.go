package preempt

import (
	"cmp"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
)

// verdicts judges every pod and puts the most endangered first.
func (p *planner) verdicts() {
	order := slices.Clone(p.all)
	reasons := make([]Reason, len(p.all))
	for i, c := range p.all {
		reasons[i] = p.reason(c)
	}
	slices.SortStableFunc(order, func(a, b *candidate) int {
		return cmp.Or(
			cmp.Compare(reasons[a.index], reasons[b.index]),
			cmp.Compare(p.judged[a.index].kill, p.judged[b.index].kill),
			cmp.Compare(b.class, a.class), // cheapest first
			cmp.Compare(p.judged[a.index].distance, p.judged[b.index].distance),
			cmp.Compare(a.memory, b.memory), cmp.Compare(a.cpu, b.cpu),
			comparePods(a.pod, b.pod))
	})
	p.result.Verdicts = make([]Verdict, len(order))
	for i, c := range order {
		j := p.judged[c.index]
		v := Verdict{
			Pod: refTo(c.pod), QOS: c.qos, Priority: c.priority, Frees: p.frees(c),
			Kill: j.kill, Reason: reasons[c.index],
			Terminating: c.pod.DeletionTimestamp != nil, Grace: grace(c.pod),
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

// grace is how long the pod may take to end: of one that is terminating what
// was granted then, else its own; 30 s is the API's default.
func grace(p *v1.Pod) time.Duration {
	seconds := int64(v1.DefaultTerminationGracePeriodSeconds)
	switch {
	case p.DeletionTimestamp != nil && p.DeletionGracePeriodSeconds != nil:
		seconds = *p.DeletionGracePeriodSeconds
	case p.Spec.TerminationGracePeriodSeconds != nil:
		seconds = *p.Spec.TerminationGracePeriodSeconds
	}
	return time.Duration(seconds) * time.Second
}

// comparePods orders pods by namespace and name.
func comparePods(a, b *v1.Pod) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name), strings.Compare(string(a.UID), string(b.UID)))
}
