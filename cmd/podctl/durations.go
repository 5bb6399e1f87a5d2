package main

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// durationsKept is how many durations a percentile is of: the last ones.
const durationsKept = 10_000

// durations are measured times. The zero value has none.
type durations struct {
	last    []time.Duration // a ring once it is full
	n       int             // of all
	longest time.Duration   // of all
}

func (d *durations) add(t time.Duration) {
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

// percentile is the smallest duration that p percent of them do not exceed; 0
// of none.
func (d *durations) percentile(p float64) time.Duration {
	if len(d.last) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(d.last))
	return sorted[max(0, int(math.Ceil(p/100*float64(len(sorted))))-1)]
}

// shortTime is a duration in about three digits, for a column or a sentence.
func shortTime(d time.Duration) string {
	switch {
	case d <= 0:
		return "0ms"
	case d < time.Millisecond:
		return "<1ms"
	case d < 10*time.Millisecond:
		return fmt.Sprintf("%.3gms", float64(d)/float64(time.Millisecond))
	case d.Round(time.Millisecond) < time.Second:
		return fmt.Sprintf("%dms", d.Round(time.Millisecond).Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.3gs", d.Seconds())
	}
	return ageText(d)
}
