package plegstat

import (
	"testing"
	"time"
)

func TestPercentileReturnsMeasuredValue(t *testing.T) {
	var d Durations
	if d.Percentile(95) != 0 || d.longest != 0 {
		t.Errorf("of none: %v, %v", d.Percentile(95), d.longest)
	}
	for i := range 20 {
		d.Add(time.Duration(20-i) * time.Millisecond)
	}
	for p, want := range map[float64]time.Duration{0: 1, 5: 1, 50: 10, 95: 19, 96: 20, 100: 20} {
		if got := d.Percentile(p); got != want*time.Millisecond {
			t.Errorf("p%v of 1…20ms is %v", p, got)
		}
	}
}

func TestDurationsKeepRecentValuesAndMaximum(t *testing.T) {
	var d Durations
	d.Add(time.Hour)
	for range durationsKept {
		d.Add(time.Second)
	}
	if d.Percentile(100) != time.Second || d.longest != time.Hour || d.n != durationsKept+1 || len(d.last) != durationsKept {
		t.Errorf("%v, %v, %d of %d", d.Percentile(100), d.longest, len(d.last), d.n)
	}
}
