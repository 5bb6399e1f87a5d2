package output

import (
	"fmt"
	"time"
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
	return Age(d)
}

// Age is a duration as a table shows it: one or two units.
func Age(d time.Duration) string {
	d = max(0, d).Truncate(time.Second)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return twoUnits(int(d.Minutes()), "m", int(d.Seconds())%60, "s")
	case d < 48*time.Hour:
		return twoUnits(int(d.Hours()), "h", int(d.Minutes())%60, "m")
	}
	return fmt.Sprintf("%dd", int(d.Hours())/24)
}

func twoUnits(large int, unit string, small int, smaller string) string {
	if small == 0 {
		return fmt.Sprintf("%d%s", large, unit)
	}
	return fmt.Sprintf("%d%s%d%s", large, unit, small, smaller)
}
