package main

import (
	"strings"
	"testing"
	"time"
)

// A goal beside a peer that was not timed is not judged.
func TestGoalsAreRelativeToPeer(t *testing.T) {
	ways := []way{
		{name: "fast", peer: "crictl", ratio: 1},
		{name: "slow", peer: "crictl", ratio: 1.0 / 3},
		{name: "alone", peer: "missing", ratio: 1},
		{name: "late", limit: 30 * time.Millisecond},
		{name: "crictl"},
	}
	ms := func(n int) []listing { return []listing{{took: time.Duration(n) * time.Millisecond}} }
	var b strings.Builder
	printVersus(&b, ways, [][]listing{ms(90), ms(50), ms(1), ms(31), ms(100)})
	var got []string
	for line := range strings.Lines(b.String()) {
		got = append(got, strings.Join(strings.Fields(line), " "))
	}
	want := []string{
		"time CPU beside its peer goal",
		"fast 90.0 ms - 0.90 × crictl ≤ 1.00 ×: reached",
		"slow 50.0 ms - 0.50 × crictl ≤ 0.33 ×: missed",
		"alone 1.0 ms - - -",
		"late 31.0 ms - - ≤ 30ms: missed",
		"crictl 100.0 ms - - -",
		"",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s", b.String())
	}
}
