package preempt

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Why is the reason for a verdict of this result in words:
// "distance 0.33, the nearest of 3 · leaves 160m cpu short".
func (r *Result) Why(v Verdict) string {
	switch v.Reason {
	case Victim:
		return r.whyVictim(v)
	case NotNeeded:
		_, round := r.round(v.Round)
		return fmt.Sprintf("not needed: distance %.2f in round %d, which took %s and was enough", v.Distance, v.Round, round.Chosen)
	case ClassNotReached:
		return fmt.Sprintf("no %s pod is needed", v.QOS)
	case FreesNothing:
		return "frees nothing that is short"
	case NothingShort:
		return "nothing is short"
	case NotEnough:
		return "no set of pods would be enough"
	case NotPreempting:
		return fmt.Sprintf("%s is not critical", r.Preemptor)
	case UnknownClass:
		return fmt.Sprintf("QoS class %q is unknown", v.QOS)
	case HigherPriority:
		return fmt.Sprintf("critical, of higher priority than %s", r.Preemptor)
	case Critical:
		return "critical"
	}
	return v.Reason.String()
}

func (r *Result) whyVictim(v Verdict) string {
	stage, round := r.round(v.Round)
	var b strings.Builder
	fmt.Fprintf(&b, "distance %.2f", round.Distance)
	switch next := round.Next; {
	case next == nil:
		fmt.Fprintf(&b, ", the only %s pod left", stage.Class)
	case next.By == Nearer:
		fmt.Fprintf(&b, ", the nearest of %d", round.Candidates)
	case next.By == Later:
		fmt.Fprintf(&b, ", one of %s", round.OneOf())
	default:
		fmt.Fprintf(&b, ", smaller request than %s", next.Pod)
	}
	if len(round.Left) > 0 {
		fmt.Fprintf(&b, " · leaves %s short", list(round.Left))
	}
	return b.String()
}

// maxNamed is the number of equal pods up to which all are named.
const maxNamed = 4

// OneOf names the chosen pod with those equal to it: "x2, x3 … x13", "" if there
// are none.
func (r *Round) OneOf() string {
	if len(r.Equal) == 0 {
		return ""
	}
	all := append([]PodRef{r.Chosen}, r.Equal...)
	slices.SortFunc(all, func(a, b PodRef) int { return naturally(a.String(), b.String()) })
	names := make([]string, len(all))
	for i, ref := range all {
		names[i] = ref.String()
	}
	if len(names) > maxNamed {
		return fmt.Sprintf("%s, %s … %s", names[0], names[1], names[len(names)-1])
	}
	return strings.Join(names, ", ")
}

// naturally compares names with numbers in them: x2 comes before x13.
func naturally(a, b string) int {
	prefix := func(s string) string { return strings.TrimRight(s, "0123456789") }
	if prefix(a) == prefix(b) && len(a) != len(b) {
		return cmp.Compare(len(a), len(b))
	}
	return strings.Compare(a, b)
}

// Ties are the rounds in which nothing but the order of the kubelet's list decided
// and in which another pod than a victim could have been chosen.
func (r *Result) Ties() []*Round {
	victims := map[PodRef]bool{}
	for _, v := range r.Victims {
		victims[refTo(v)] = true
	}
	var ties []*Round
	for i := range r.Stages {
		for j := range r.Stages[i].Rounds {
			round := &r.Stages[i].Rounds[j]
			if slices.ContainsFunc(round.Equal, func(ref PodRef) bool { return !victims[ref] }) {
				ties = append(ties, round)
			}
		}
	}
	return ties
}

// round finds a round and its stage by number.
func (r *Result) round(number int) (*Stage, *Round) {
	for i := range r.Stages {
		s := &r.Stages[i]
		if n := len(s.Rounds); n > 0 && number <= s.Rounds[n-1].Number {
			return s, &s.Rounds[number-s.Rounds[0].Number]
		}
	}
	return nil, nil
}
