package preempt

import (
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
)

// Plan computes which pods the kubelet would preempt so that the preemptor, which
// lacks need, can be admitted; with a verdict on each of the pods, which are
// the active ones in the kubelet's order. It is getPodsToPreempt
// (pkg/kubelet/preemption/preemption.go).
func Plan(preemptor *v1.Pod, pods []*v1.Pod, need []Amount) *Result {
	r := &Result{Preemptor: refTo(preemptor), Need: positive(need)}
	if len(need) > 0 {
		r.Signal = need[0].Resource
	}
	p := &planner{result: r, all: candidates(preemptor, pods, r.Need)}
	for _, c := range p.all {
		if c.spared == Victim {
			p.byClass[c.class] = append(p.byClass[c.class], c)
		}
	}
	p.judged = make([]judgement, len(p.all))
	if pod.IsCritical(preemptor) && len(r.Need) > 0 {
		p.plan()
	}
	p.verdicts()
	if len(r.Victims) > 0 {
		r.Unneeded = p.trim()
	}
	r.Warnings = p.warnings()
	return r
}

// planner carries the working of one Plan.
type planner struct {
	result  *Result
	all     []*candidate
	byClass [classes][]*candidate // possible victims
	victims []*candidate          // in the order killed
	judged  []judgement           // by candidate.index
}

// judgement is what the rounds found out about a candidate.
type judgement struct {
	kill, round int
	reached     bool
	distance    float64
}

// plan finds the victims class by class, the dearest class first, each as if
// all cheaper ones were gone; they are killed the other way round.
func (p *planner) plan() {
	if missing := p.short(p.byClass[guaranteed], p.byClass[burstable], p.byClass[bestEffort]); anyShort(missing) {
		p.result.Missing = p.amounts(missing)
		return
	}
	var chosen [classes][]*candidate
	for c := range classes {
		gone := slices.Concat(chosen[:c]...)
		for cheaper := c + 1; cheaper < classes; cheaper++ {
			gone = append(gone, p.byClass[cheaper]...)
		}
		chosen[c] = p.stage(c, p.short(gone))
	}
	for c := bestEffort; ; c-- {
		p.victims = append(p.victims, chosen[c]...)
		if c == guaranteed {
			break
		}
	}
	for i, c := range p.victims {
		p.result.Victims = append(p.result.Victims, c.pod)
		p.judged[c.index].kill = i + 1
	}
}

// short is what is needed when the groups of candidates are gone.
func (p *planner) short(gone ...[]*candidate) []int64 {
	short := make([]int64, len(p.result.Need))
	for j, n := range p.result.Need {
		short[j] = n.Count
	}
	for _, group := range gone {
		subtract(short, group...)
	}
	return short
}

// amounts writes down what is short.
func (p *planner) amounts(short []int64) []Amount {
	var out []Amount
	for j, s := range short {
		if s > 0 {
			out = append(out, Amount{p.result.Need[j].Resource, s})
		}
	}
	return out
}

// stage runs the rounds of one class and records them.
func (p *planner) stage(c class, short []int64) []*candidate {
	s := Stage{Class: qosOf[c], Candidates: len(p.byClass[c]), Short: p.amounts(short)}
	number := 0
	for _, before := range p.result.Stages {
		number += len(before.Rounds)
	}
	g := newGreedy(p.byClass[c])
	before := len(s.Short)
	chosen := g.run(short, func(ch choice) {
		number++
		round := Round{
			Number: number, Candidates: len(g.list) + 1, Chosen: refTo(ch.chosen.pod),
			Before: float64(before), Distance: ch.distance, Tied: ch.tied, Left: p.amounts(short),
		}
		if ch.next != nil {
			round.Next = &Rival{refTo(ch.next.pod), g.shapes[ch.next.shape].distance, tieBreak(ch, g)}
			round.Equal = g.equal(ch)
		}
		s.Rounds = append(s.Rounds, round)
		p.judged[ch.chosen.index] = judgement{round: number, reached: true, distance: ch.distance}
		before = len(round.Left)
	})
	if len(s.Rounds) > 0 {
		for _, left := range g.list {
			p.judged[left.index] = judgement{round: number, reached: true, distance: g.shapes[left.shape].distance}
		}
	}
	p.result.Stages = append(p.result.Stages, s)
	return chosen
}

// tieBreak returns what decided between the chosen one and the runner-up.
func tieBreak(ch choice, g *greedy) TieBreak {
	switch {
	case g.shapes[ch.next.shape].distance != ch.distance:
		return Nearer
	case ch.next.memory != ch.chosen.memory:
		return LessMemory
	case ch.next.cpu != ch.chosen.cpu:
		return LessCPU
	}
	return Later
}
