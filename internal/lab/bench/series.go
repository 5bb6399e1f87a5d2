package bench

import (
	"math/bits"
	"slices"
	"time"

	"github.com/podctl/podctl/internal/sys/quantile"
)

// Series are measured times of one kind. The zero value has none.
type Series struct {
	Took []time.Duration
	// Over is the time in which they were measured; several may have been in flight at once.
	Over time.Duration
}

// Add adds times that were measured in over.
func (s *Series) Add(over time.Duration, took ...time.Duration) {
	s.Took = append(s.Took, took...)
	s.Over += over
}

// Percentiles returns a percentile for each part (0 to 1), 0 of none.
func (s Series) Percentiles(parts ...float64) []time.Duration {
	sorted := slices.Sorted(slices.Values(s.Took))
	values := make([]time.Duration, len(parts))
	for i, p := range parts {
		values[i] = quantile.Of(sorted, p)
	}
	return values
}

// Rate returns how many there were per second, 0 if Over is 0.
func (s Series) Rate() float64 {
	if s.Over <= 0 {
		return 0
	}
	return float64(len(s.Took)) / s.Over.Seconds()
}

// Bucket is how many times were longer than half of Most, and at most Most.
type Bucket struct {
	Most  time.Duration
	Count int
}

// Histogram sorts the times into buckets, each twice as long as the one before: from the
// first with a time to the last.
func (s Series) Histogram() []Bucket {
	counts := map[int]int{}
	least, most := 64, -1
	for _, t := range s.Took {
		b := bits.Len64(uint64(max(0, t-1) / time.Microsecond))
		counts[b]++
		least, most = min(least, b), max(most, b)
	}
	var all []Bucket
	for b := least; b <= most; b++ {
		all = append(all, Bucket{time.Microsecond << b, counts[b]})
	}
	return all
}
