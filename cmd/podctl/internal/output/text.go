package output

import (
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"
)

// Plural is "1 pod" or "3 pods".
func Plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// Clock is the time of day, in milliseconds.
func Clock(t time.Time) string { return t.Format("15:04:05.000") }

// ShortTime is a duration in about three digits, for a column or a sentence.
func ShortTime(d time.Duration) string {
	switch {
	case d < 0:
		return Age(min(d, -2*time.Second))
	case d == 0:
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
	return Age(d)
}

// Age formats a duration as kubectl does in tables: <invalid> if it is negative, as after a clock
// was set back.
func Age(d time.Duration) string { return duration.HumanDuration(d) }

// Since formats the time since a moment, - without one. The moment is in the future if the
// clock was set back: then that is not known.
func Since(now, moment time.Time) string {
	switch d := now.Sub(moment); {
	case moment.IsZero():
		return "-"
	case d <= -2*time.Second:
		return "unknown"
	default:
		return Age(max(d, 0))
	}
}

// Size is an amount of bytes in three digits and a binary unit: 4.1MiB.
func Size(n uint64) string {
	const units = "KMGTPE"
	if n < 1<<10 {
		return fmt.Sprintf("%dB", n)
	}
	value, unit := float64(n)/(1<<10), 0
	for value >= 1000 && unit < len(units)-1 {
		value, unit = value/(1<<10), unit+1
	}
	if value < 10 {
		return fmt.Sprintf("%.1f%ciB", value, units[unit])
	}
	return fmt.Sprintf("%.0f%ciB", value, units[unit])
}
