package plegstat

import (
	"slices"
	"time"

	"github.com/podctl/podctl/internal/sys/quantile"
)

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
