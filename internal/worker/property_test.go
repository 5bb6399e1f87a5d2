package worker

import (
	"flag"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// atLeast makes rapid try that many histories, unless the command line asks
// for more.
func atLeast(t *testing.T, flagName, value string) {
	f := flag.Lookup(flagName)
	if f == nil {
		t.Fatalf("rapid has no flag %s", flagName)
	}
	if f.Value.String() != f.DefValue {
		return
	}
	if err := f.Value.Set(value); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Value.Set(f.DefValue) })
}

func TestInvariantsHoldInRandomHistories(t *testing.T) {
	atLeast(t, "rapid.checks", "2000")
	rapid.Check(t, func(rt *rapid.T) {
		h := newHistory(Step, func(n int) int { return rapid.IntRange(0, n-1).Draw(rt, "choice") })
		if violations := h.run(rapid.IntRange(1, 60).Draw(rt, "steps")); len(violations) > 0 {
			rt.Fatalf("%v\nin\n%s", violations, strings.Join(h.log, ""))
		}
	})
}

// seeded plays one history that the seed determines. rapid prefers short
// histories and small numbers, which its shrinking needs; this one does not.
func seeded(step stepFunc, seed uint64) *history {
	random := rand.New(rand.NewPCG(seed, 0))
	h := newHistory(step, random.IntN)
	h.run(20 + random.IntN(100))
	return h
}

func TestInvariantsHoldInLongHistories(t *testing.T) {
	for seed := range uint64(1000) {
		if h := seeded(Step, seed); len(h.w.check.violations) > 0 {
			t.Fatalf("seed %d: %v\nin\n%s", seed, h.w.check.violations, strings.Join(h.log, ""))
		}
	}
}
