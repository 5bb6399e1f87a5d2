package preempt

import (
	"slices"
	"testing"
)

// TestPlanEqualsPlainKubelet compares victims and what is missing with the
// plain implementation.
func TestPlanEqualsPlainKubelet(t *testing.T) {
	for seed := range uint64(5_000) {
		d := newDice(seed)
		pods, need := d.pods(d.IntN(40)), d.need()
		r := Plan(critical(), pods, need)
		victims, missing := plainKubelet(critical(), pods, need)
		if !slices.Equal(r.Victims, victims) || !slices.Equal(r.Missing, missing) {
			t.Fatalf("seed %d, need %v: victims %v, missing %v; plainly %v, %v", seed, need, names(r.Victims), r.Missing, names(victims), missing)
		}
	}
}
