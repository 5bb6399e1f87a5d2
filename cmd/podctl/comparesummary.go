package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/podctl/podctl/internal/pleg"
)

// compareSummary is what `podctl pleg compare` ends with. Times are in seconds.
type compareSummary struct {
	Seconds     float64 `json:"seconds"`     // how long it compared
	Transitions int     `json:"transitions"` // of containers and sandboxes, those missed by one side too
	HintsFirst  int     `json:"hintsFirst"`  // of those that both told: the runtime's events were first
	RelistFirst int     `json:"relistFirst"` // of those that both told: the relists were first

	AheadP50 float64 `json:"aheadP50"` // by how much the hints were first, where they were
	AheadP95 float64 `json:"aheadP95"` // the same
	AheadMax float64 `json:"aheadMax"` // the same

	HintLagP50   float64 `json:"hintLagP50"`   // of the hints, where the runtime says when it happened
	HintLagP95   float64 `json:"hintLagP95"`   // the same
	RelistLagP50 float64 `json:"relistLagP50"` // of the relists
	RelistLagP95 float64 `json:"relistLagP95"` // the same

	MissedByHints  int `json:"missedByHints"`  // transitions that no event of the runtime told of
	MissedByRelist int `json:"missedByRelist"` // transitions that were over before a relist could see them
	ShortLived     int `json:"shortLived"`     // containers and sandboxes that no relist ever saw running
	Undecided      int `json:"undecided"`      // one side had told at the end, and the other had time left
	Gaps           int `json:"gaps"`           // how often the stream of hints broke
}

// summary adds up a comparison of that length.
func (c *comparison) summary(took time.Duration, gaps int) compareSummary {
	s := compareSummary{Seconds: took.Seconds(), Transitions: len(c.all), Undecided: c.undecided(), Gaps: gaps}
	var ahead durations
	var lags [2]durations
	for _, t := range c.all {
		if t.missedBy(byHints) {
			s.MissedByHints++
		}
		if t.missedBy(byRelists) {
			s.MissedByRelist++
			if t.Type == pleg.ContainerStarted {
				s.ShortLived++
			}
		}
		for _, by := range []side{byHints, byRelists} {
			if lag, ok := t.lagOf(by); ok && !t.missedBy(by) {
				lags[by].add(lag)
			}
		}
		switch {
		case !t.both() || t.caughtUp:
		case t.ahead() > 0:
			s.HintsFirst++
			ahead.add(t.ahead())
		case t.ahead() < 0:
			s.RelistFirst++
		}
	}
	s.AheadP50, s.AheadP95, s.AheadMax = ahead.percentile(50).Seconds(), ahead.percentile(95).Seconds(), ahead.longest.Seconds()
	s.HintLagP50, s.HintLagP95 = lags[byHints].percentile(50).Seconds(), lags[byHints].percentile(95).Seconds()
	s.RelistLagP50, s.RelistLagP95 = lags[byRelists].percentile(50).Seconds(), lags[byRelists].percentile(95).Seconds()
	return s
}

// lines are the summary for people.
func (s compareSummary) lines() []string {
	first := fmt.Sprintf("%s in %s", plural(s.Transitions, "transition"), ageText(seconds(s.Seconds)))
	if s.Transitions == 0 {
		return []string{first + ": nothing happened to any pod"}
	}
	var parts []string
	if s.HintsFirst > 0 {
		parts = append(parts, fmt.Sprintf("events first %s, by p50 %s, p95 %s, max %s", plural(s.HintsFirst, "time"),
			shortTime(seconds(s.AheadP50)), shortTime(seconds(s.AheadP95)), shortTime(seconds(s.AheadMax))))
	}
	if s.RelistFirst > 0 {
		parts = append(parts, fmt.Sprintf("relists first %s", plural(s.RelistFirst, "time")))
	}
	lines := []string{strings.Join(append([]string{first}, parts...), " · ")}
	missed := "events missed " + nothingOr(s.MissedByHints) + " · relists missed " + nothingOr(s.MissedByRelist)
	if s.ShortLived > 0 {
		missed += fmt.Sprintf(", %d lived too short to be seen running", s.ShortLived)
	}
	if s.Undecided > 0 {
		missed += fmt.Sprintf(" · %d too recent to tell", s.Undecided)
	}
	if s.Gaps > 0 {
		missed += " · the events broke off " + plural(s.Gaps, "time")
	}
	lines = append(lines, missed)
	return append(lines, fmt.Sprintf("known after, where the runtime says when: events p50 %s, p95 %s · relists p50 %s, p95 %s",
		shortTime(seconds(s.HintLagP50)), shortTime(seconds(s.HintLagP95)), shortTime(seconds(s.RelistLagP50)), shortTime(seconds(s.RelistLagP95))))
}

func nothingOr(n int) string {
	if n == 0 {
		return "nothing"
	}
	return fmt.Sprint(n)
}
