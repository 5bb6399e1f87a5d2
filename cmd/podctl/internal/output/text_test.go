package output

import (
	"testing"
	"time"
)

// kubectl shows as <invalid> what happened before a clock was set back.
func TestNegativeTimesAreInvalid(t *testing.T) {
	for d, want := range map[time.Duration][2]string{
		-time.Hour: {"<invalid>", "<invalid>"}, -time.Millisecond: {"0s", "<invalid>"}, 0: {"0s", "0ms"}, time.Minute: {"60s", "60s"},
	} {
		if got := [2]string{Age(d), ShortTime(d)}; got != want {
			t.Errorf("%s: %q, want %q", d, got, want)
		}
	}
}

// A command that says how long something lasts does not know it after the clock was set back.
func TestSinceOfClockSetBack(t *testing.T) {
	now := time.Now()
	for moment, want := range map[time.Time]string{
		{}: "-", now.Add(24 * time.Hour): "unknown", now.Add(time.Second): "0s", now.Add(-time.Minute): "60s",
	} {
		if got := Since(now, moment); got != want {
			t.Errorf("%s: %q, want %q", moment, got, want)
		}
	}
}
