package main

import (
	"testing"
	"time"
)

func TestPercentileIsANumberThatWasMeasured(t *testing.T) {
	var d durations
	if d.percentile(95) != 0 || d.longest != 0 {
		t.Errorf("of none: %v, %v", d.percentile(95), d.longest)
	}
	for i := range 20 {
		d.add(time.Duration(20-i) * time.Millisecond)
	}
	for p, want := range map[float64]time.Duration{0: 1, 5: 1, 50: 10, 95: 19, 96: 20, 100: 20} {
		if got := d.percentile(p); got != want*time.Millisecond {
			t.Errorf("p%v of 1…20ms is %v", p, got)
		}
	}
}

func TestDurationsKeepTheLastAndTheLongest(t *testing.T) {
	var d durations
	d.add(time.Hour)
	for range durationsKept {
		d.add(time.Second)
	}
	if d.percentile(100) != time.Second || d.longest != time.Hour || d.n != durationsKept+1 || len(d.last) != durationsKept {
		t.Errorf("%v, %v, %d of %d", d.percentile(100), d.longest, len(d.last), d.n)
	}
}

func TestShortTime(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0ms", 0: "0ms", time.Microsecond: "<1ms", 1234 * time.Microsecond: "1.23ms", 9999 * time.Microsecond: "10ms",
		12345 * time.Microsecond: "12ms", 999*time.Millisecond + 600*time.Microsecond: "1s", 1234 * time.Millisecond: "1.23s",
		12345 * time.Millisecond: "12s", 75 * time.Second: "1m15s",
	} {
		if got := shortTime(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}
