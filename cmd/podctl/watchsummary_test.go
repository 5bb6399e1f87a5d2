package main

import (
	"testing"
)

func TestWatchSummaryText(t *testing.T) {
	n := func(n int) *int { return &n }
	for _, c := range []struct {
		sum  watchSummary
		want string
	}{
		{watchSummary{}, "0 events in 0s · no hints"},
		{
			watchSummary{Seconds: 9.4, Events: map[string]int{"ContainerDied": 2, "ContainerStarted": 1, "PodSync": 1}, Relists: 2, RelistP95: 0.003, Lags: 3, LagP50: 0.003, LagP95: 0.64, LagMax: 1.5, Unhinted: n(1)},
			"4 events in 9s: 1 ContainerStarted, 2 ContainerDied, 1 PodSync · 2 full relists, p95 3ms · lag p50 3ms, p95 640ms, max 1.5s · 1 change was not hinted",
		},
		{
			watchSummary{Seconds: 75, Events: map[string]int{"ContainerRemoved": 1}, Relists: 1, Unhinted: n(0), Gaps: 2},
			"1 event in 1m15s: 1 ContainerRemoved · 1 full relist, p95 0ms · every change was hinted · the hints broke off 2 times",
		},
		{watchSummary{Unhinted: n(3)}, "0 events in 0s · 3 changes were not hinted"},
	} {
		if got := c.sum.text(); got != c.want {
			t.Errorf("%q\nwant %q", got, c.want)
		}
	}
}
