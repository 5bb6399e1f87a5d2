package main

import (
	"fmt"
	"strings"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/internal/preempt"
)

// explain walks through the rounds in which the kubelet looks for victims.
func explain(e *env, r *preempt.Result) {
	if len(r.Stages) == 0 {
		fmt.Fprintln(e.out, "no round: nobody is looked for")
		return
	}
	for _, s := range r.Stages {
		fmt.Fprintf(e.out, "%s: %s\n", s.Class, output.Plural(s.Candidates, "possible victim"))
		if len(s.Short) == 0 {
			fmt.Fprintln(e.out, "  nothing has to come from this class")
			continue
		}
		fmt.Fprintf(e.out, "  short without all cheaper pods and the victims so far: %s\n", amounts(s.Short))
		for _, round := range s.Rounds {
			fmt.Fprintf(e.out, "  round %d: %s of %d, distance %.2f → %.2f", round.Number, round.Chosen, round.Candidates, round.Before, round.Distance)
			if n := round.Next; n != nil {
				fmt.Fprintf(e.out, " · next %s, %.2f%s", n.Pod, n.Distance, tie(n.By))
			}
			if round.Tied > 0 {
				fmt.Fprintf(e.out, " · %d as near", round.Tied)
			}
			if len(round.Left) > 0 {
				fmt.Fprintf(e.out, " · leaves %s short", amounts(round.Left))
			}
			fmt.Fprintln(e.out)
		}
	}
	fmt.Fprintln(e.out, "victims are killed in the reverse order of the classes, one after the other")
}

func amounts(list []preempt.Amount) string {
	words := make([]string, len(list))
	for i, a := range list {
		words[i] = a.String()
	}
	return strings.Join(words, ", ")
}

// tie is what decided between two that are equally near.
func tie(by preempt.TieBreak) string {
	switch by {
	case preempt.LessMemory:
		return ", which requests more memory"
	case preempt.LessCPU:
		return ", which requests more cpu"
	case preempt.Later:
		return ", which comes earlier in the list"
	case preempt.Nearer:
		return ""
	}
	return ""
}
