package main

import (
	"strings"
	"testing"
	"time"
)

func TestStartGoals(t *testing.T) {
	of := func(up, started int) []result {
		return []result{{up: time.Duration(up) * time.Millisecond, started: time.Duration(started) * time.Millisecond}}
	}
	var g startGoals
	g.add(1, map[string][]result{"bare": of(100, 100), "run": of(120, 120), "agent": of(110, 110)})
	g.add(60, map[string][]result{"bare": of(900, 1000), "run": of(240, 1050)})
	g.add(61, map[string][]result{"bare": of(900, 1000), "run": of(241, 1050)})
	var b strings.Builder
	g.report(&b)
	want := []string{
		"1 run 100 ms 100 ms 120 ms 120 ms 1.20 ≤ 1.1: missed - -",
		"1 agent 100 ms 100 ms 110 ms 110 ms 1.10 ≤ 1.1: reached - -",
		"60 run 900 ms 1000 ms 240 ms 1050 ms 1.05 ≤ 1.1: reached 2.00 ≤ 2.0: reached",
		"61 run 900 ms 1000 ms 241 ms 1050 ms 1.05 ≤ 1.1: reached 2.01 ≤ 2.0: missed",
	}
	lines := strings.Split(strings.TrimSpace(b.String()), "\n")[2:6]
	if len(lines) != len(want) {
		t.Fatalf("%q", lines)
	}
	for i, line := range lines {
		if got := strings.Join(strings.Fields(line), " "); got != want[i] {
			t.Errorf("line %d: %q", i, got)
		}
	}
}
