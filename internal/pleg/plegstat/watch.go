package plegstat

import (
	"time"

	"github.com/podctl/podctl/internal/pleg"
)

// WatchStats adds up the events of a watch. The zero value has none.
type WatchStats struct {
	Events int
	byType map[pleg.EventType]int
	lags   durations
	future int // events in the future
}

// Add counts an event.
func (s *WatchStats) Add(ev Event) {
	if s.byType == nil {
		s.byType = map[pleg.EventType]int{}
	}
	s.Events++
	s.byType[ev.Type]++
	if lag, ok := ev.Lag(); ok {
		s.lags.add(lag)
	}
	if ev.InFuture() {
		s.future++
	}
}

// WatchSummary is the last line of a watch. Times are in seconds.
type WatchSummary struct {
	Seconds float64        `json:"seconds"` // duration of the watch
	Events  map[string]int `json:"events"`  // events shown, by type
	Relists int            `json:"relists"` // full relists that succeeded

	RelistMax *float64 `json:"relistMax,omitempty"` // longest duration of the list calls of a full relist

	Lags   int      `json:"lags"`             // events shown that have a lag
	LagMax *float64 `json:"lagMax,omitempty"` // longest lag of these events

	InFuture int `json:"inFuture,omitempty"` // events that happened after they were detected, by the runtime's time: they have no lag

	// changes found by a relist without a hint while hints were received;
	// missing if there never were hints
	Unhinted *int `json:"unhinted,omitempty"`
	Gaps     int  `json:"gaps"` // interruptions of the hint stream
}

// Summary returns the summary of a watch of that duration.
func (s *WatchStats) Summary(took time.Duration, m *Meter, unhinted int) WatchSummary {
	m.mu.Lock()
	defer m.mu.Unlock()
	sum := WatchSummary{
		Seconds: took.Seconds(), Events: map[string]int{}, Relists: m.relists.n,
		RelistMax: m.relists.max(), Lags: s.lags.n, LagMax: s.lags.max(), InFuture: s.future, Gaps: m.gaps,
	}
	for t, n := range s.byType {
		sum.Events[string(t)] = n
	}
	if m.everHinted {
		sum.Unhinted = &unhinted
	}
	return sum
}

// durations counts measured times, and keeps the longest. The zero value has none.
type durations struct {
	n       int
	longest time.Duration
}

func (d *durations) add(t time.Duration) {
	d.n++
	d.longest = max(d.longest, t)
}

// max returns the longest in seconds, nil if there are none.
func (d *durations) max() *float64 {
	if d.n == 0 {
		return nil
	}
	return new(d.longest.Seconds())
}
