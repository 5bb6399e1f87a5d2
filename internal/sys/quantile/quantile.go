// Package quantile is the percentiles of measured times: pure.
package quantile

import (
	"math"
	"time"
)

// Of returns the smallest duration that the part p (0 to 1) of the sorted durations does
// not exceed, 0 if there are none.
func Of(sorted []time.Duration, p float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max(0, int(math.Ceil(p*float64(len(sorted))))-1)]
}
