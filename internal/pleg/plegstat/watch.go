package plegstat

import (
	"slices"
	"time"

	"github.com/podctl/podctl/internal/pleg"
	"github.com/podctl/podctl/internal/sys/quantile"
)

// WatchStats adds up the events of a watch. The zero value has none.
type WatchStats struct {
	Events int
	byType map[pleg.EventType]int
	lags   Durations
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
		s.lags.Add(lag)
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

	RelistP50 *float64 `json:"relistP50,omitempty"` // duration of the list calls of a full relist, median
	RelistP95 *float64 `json:"relistP95,omitempty"` // the same, 95th percentile
	RelistMax *float64 `json:"relistMax,omitempty"` // the same, maximum

	Lags   int      `json:"lags"`             // events shown that have a lag
	LagP50 *float64 `json:"lagP50,omitempty"` // lag of these events, median
	LagP95 *float64 `json:"lagP95,omitempty"` // the same, 95th percentile
	LagMax *float64 `json:"lagMax,omitempty"` // the same, maximum

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
		Lags: s.lags.n, InFuture: s.future, Gaps: m.gaps,
	}
	sum.RelistP50, sum.RelistP95, sum.RelistMax = m.relists.summary()
	sum.LagP50, sum.LagP95, sum.LagMax = s.lags.summary()
	for t, n := range s.byType {
		sum.Events[string(t)] = n
	}
	if m.everHinted {
		sum.Unhinted = &unhinted
	}
	return sum
}

// durationsKept is how many durations a percentile is computed from: the last ones.
const durationsKept = 10_000

// Durations are measured times. The zero value has none.
type Durations struct {
	last    []time.Duration // a ring buffer once it is full
	n       int             // of all
	longest time.Duration   // of all
}

// Add adds a measured time.
func (d *Durations) Add(t time.Duration) {
	if d.longest = max(d.longest, t); d.n == 0 {
		d.longest = t
	}
	if len(d.last) < durationsKept {
		d.last = append(d.last, t)
	} else {
		d.last[d.n%durationsKept] = t
	}
	d.n++
}

// Percentile returns the smallest duration that p percent of them do not
// exceed, 0 if there are none.
func (d *Durations) Percentile(p float64) time.Duration {
	return quantile.Of(slices.Sorted(slices.Values(d.last)), p/100)
}

// summary returns the median, the 95th percentile and the maximum in seconds, nil if there are none.
func (d *Durations) summary() (p50, p95, longest *float64) {
	if d.n == 0 {
		return nil, nil, nil
	}
	return new(d.Percentile(50).Seconds()), new(d.Percentile(95).Seconds()), new(d.longest.Seconds())
}
