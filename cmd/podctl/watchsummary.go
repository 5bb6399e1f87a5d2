package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/podctl/podctl/internal/pleg"
)

// watchStats add up what was shown. The zero value is nothing.
type watchStats struct {
	events int
	byType map[pleg.EventType]int
	lags   durations
}

func (s *watchStats) add(ev seenEvent) {
	if s.byType == nil {
		s.byType = map[pleg.EventType]int{}
	}
	s.events++
	s.byType[ev.Type]++
	if lag, ok := ev.lag(); ok {
		s.lags.add(lag)
	}
}

// watchSummary is what `podctl pleg watch` ends with. Times are in seconds.
type watchSummary struct {
	Seconds float64        `json:"seconds"` // how long it watched
	Events  map[string]int `json:"events"`  // how many were shown of each type
	Relists int            `json:"relists"` // full relists that the runtime answered

	RelistP50 float64 `json:"relistP50"` // of the list calls of a full relist
	RelistP95 float64 `json:"relistP95"` // the same
	RelistMax float64 `json:"relistMax"` // the same

	Lags   int     `json:"lags"`   // how many of the events shown have a lag
	LagP50 float64 `json:"lagP50"` // of these
	LagP95 float64 `json:"lagP95"` // of these
	LagMax float64 `json:"lagMax"` // of these

	// changes that a relist found and the runtime did not hint at, while it
	// sent hints; missing where it never did
	Unhinted *int `json:"unhinted,omitempty"`
	Gaps     int  `json:"gaps"` // how often the stream of hints broke
}

// summary puts together what a watch of that length showed.
func (s *watchStats) summary(took time.Duration, m *plegMeter, unhinted int) watchSummary {
	m.mu.Lock()
	defer m.mu.Unlock()
	sum := watchSummary{
		Seconds: took.Seconds(), Events: map[string]int{}, Relists: m.relists.n,
		RelistP50: m.relists.percentile(50).Seconds(), RelistP95: m.relists.percentile(95).Seconds(), RelistMax: m.relists.longest.Seconds(),
		Lags: s.lags.n, LagP50: s.lags.percentile(50).Seconds(), LagP95: s.lags.percentile(95).Seconds(), LagMax: s.lags.longest.Seconds(),
		Gaps: m.gaps,
	}
	for t, n := range s.byType {
		sum.Events[string(t)] = n
	}
	if m.everHinted {
		sum.Unhinted = &unhinted
	}
	return sum
}

// text is the summary in a line.
func (s watchSummary) text() string {
	total := 0
	var types []string
	for _, t := range eventTypes {
		if n := s.Events[t]; n > 0 {
			total += n
			types = append(types, fmt.Sprintf("%d %s", n, t))
		}
	}
	events := fmt.Sprintf("%s in %s", plural(total, "event"), ageText(seconds(s.Seconds)))
	if len(types) > 0 {
		events += ": " + strings.Join(types, ", ")
	}
	parts := []string{events}
	if s.Relists > 0 {
		parts = append(parts, fmt.Sprintf("%s, p95 %s", plural(s.Relists, "full relist"), shortTime(seconds(s.RelistP95))))
	}
	if s.Lags > 0 {
		parts = append(parts, fmt.Sprintf("lag p50 %s, p95 %s, max %s", shortTime(seconds(s.LagP50)), shortTime(seconds(s.LagP95)), shortTime(seconds(s.LagMax))))
	}
	switch {
	case s.Unhinted == nil:
		parts = append(parts, "no hints")
	case *s.Unhinted == 1:
		parts = append(parts, "1 change was not hinted")
	case *s.Unhinted > 1:
		parts = append(parts, fmt.Sprintf("%d changes were not hinted", *s.Unhinted))
	default:
		parts = append(parts, "every change was hinted")
	}
	if s.Gaps > 0 {
		parts = append(parts, "the hints broke off "+plural(s.Gaps, "time"))
	}
	return strings.Join(parts, " · ")
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
