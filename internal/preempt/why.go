package preempt

import (
	"fmt"
	"strings"
)

// Why is the reason for a verdict of this result in words, for people:
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
		fmt.Fprintf(&b, ", as %s, which comes earlier", next.Pod)
	default:
		fmt.Fprintf(&b, ", smaller request than %s", next.Pod)
	}
	if len(round.Left) > 0 {
		fmt.Fprintf(&b, " · leaves %s short", list(round.Left))
	}
	return b.String()
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
