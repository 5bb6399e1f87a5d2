package plegstat

import (
	"time"

	"github.com/podctl/podctl/internal/pleg"
)

// CompareSummary is the last line of a comparison. Times are in seconds.
type CompareSummary struct {
	Seconds     float64 `json:"seconds"`     // duration of the comparison
	Transitions int     `json:"transitions"` // of containers and sandboxes, including those that one side missed
	HintsFirst  int     `json:"hintsFirst"`  // reported by both, first by the runtime's events
	RelistFirst int     `json:"relistFirst"` // reported by both, first by the relists

	AheadP50 float64 `json:"aheadP50"` // how much earlier the hints were, where they were first, median
	AheadP95 float64 `json:"aheadP95"` // the same, 95th percentile
	AheadMax float64 `json:"aheadMax"` // the same, maximum

	HintLagP50   float64 `json:"hintLagP50"`   // lag of the hints, where the runtime reports when it happened, median
	HintLagP95   float64 `json:"hintLagP95"`   // the same, 95th percentile
	RelistLagP50 float64 `json:"relistLagP50"` // lag of the relists, median
	RelistLagP95 float64 `json:"relistLagP95"` // the same, 95th percentile

	MissedByHints  int `json:"missedByHints"`  // transitions without an event of the runtime
	MissedByRelist int `json:"missedByRelist"` // transitions that ended before a relist could see them
	ShortLived     int `json:"shortLived"`     // containers and sandboxes that no relist saw running
	Undecided      int `json:"undecided"`      // at the end, reported by one side and not yet missed by the other
	Gaps           int `json:"gaps"`           // interruptions of the hint stream
}

// Summary returns the summary of a comparison of that duration.
func (c *Comparison) Summary(took time.Duration, gaps int) CompareSummary {
	s := CompareSummary{Seconds: took.Seconds(), Transitions: len(c.all), Undecided: c.undecided(), Gaps: gaps}
	var ahead Durations
	var lags [2]Durations
	for _, t := range c.all {
		if t.MissedBy(ByHints) {
			s.MissedByHints++
		}
		if t.MissedBy(ByRelists) {
			s.MissedByRelist++
			if t.Type == pleg.ContainerStarted {
				s.ShortLived++
			}
		}
		for _, by := range Sides {
			if lag, ok := t.LagOf(by); ok && !t.MissedBy(by) {
				lags[by].Add(lag)
			}
		}
		switch {
		case !t.Both() || t.caughtUp:
		case t.Ahead() > 0:
			s.HintsFirst++
			ahead.Add(t.Ahead())
		case t.Ahead() < 0:
			s.RelistFirst++
		}
	}
	s.AheadP50, s.AheadP95, s.AheadMax = ahead.Percentile(50).Seconds(), ahead.Percentile(95).Seconds(), ahead.longest.Seconds()
	s.HintLagP50, s.HintLagP95 = lags[ByHints].Percentile(50).Seconds(), lags[ByHints].Percentile(95).Seconds()
	s.RelistLagP50, s.RelistLagP95 = lags[ByRelists].Percentile(50).Seconds(), lags[ByRelists].Percentile(95).Seconds()
	return s
}
