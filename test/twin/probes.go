package twin

import (
	"fmt"
	"slices"
	"time"
)

// probes compares how often the probes of an attempt ran, until its pod was told to stop.
func (p *comparing) probes(what string, a, b, inA, inB *Attempt) {
	p.Probes += len(a.Probes) + len(b.Probes)
	x, y := answered(a.Probes, p.closing(inA, p.kubelet, 0)), answered(b.Probes, p.closing(inB, p.podctl, 0))
	if len(x) > 9 && len(y) > 9 {
		tick := min(median(x), median(y))
		if differs(pace(x), pace(y)) && differs(pace(thinned(x, tick)), pace(thinned(y, tick))) {
			p.differ(what+": seconds between probes", fmt.Sprintf("%.2f (%d)", pace(x), len(x)), fmt.Sprintf("%.2f (%d)", pace(y), len(y)))
		}
	}
	lasted := func(x *Attempt, s *Side) time.Duration {
		end := s.Ended
		if !x.Exit.At.IsZero() {
			end = x.Exit.At
		}
		if i := x.first("StopContainer"); i >= 0 {
			end = x.Steps[i].At
		}
		return end.Sub(x.Steps[0].At)
	}
	if short := min(lasted(a, p.kubelet), lasted(b, p.podctl)); short > 15*time.Second && (len(a.Probes) == 0) != (len(b.Probes) == 0) {
		p.differ(what+": probes", fmt.Sprint(len(a.Probes)), fmt.Sprint(len(b.Probes)))
	}
}

// answered are the times of probes until then. One that could not be asked is asked again at once.
func answered(probes []Step, until time.Time) (times []time.Time) {
	for _, s := range probes {
		if s.Code == "OK" && s.At.Before(until) {
			times = append(times, s.At)
		}
	}
	return times
}

// thinned leaves out what came soon after another, in parts of a tick: each sync asks at once what is not
// ready, and a kubelet syncs once for each change, podctl once for some.
func thinned(times []time.Time, tick time.Duration) (kept []time.Time) {
	for _, at := range times {
		if len(kept) == 0 || at.Sub(kept[len(kept)-1]) > tick*6/10 {
			kept = append(kept, at)
		}
	}
	return kept
}

// median is the median of the times between.
func median(times []time.Time) time.Duration {
	var between []time.Duration
	for i := 1; i < len(times); i++ {
		between = append(between, times[i].Sub(times[i-1]))
	}
	slices.Sort(between)
	return between[len(between)/2]
}

// pace is how many seconds are between two of the times, 0 for fewer.
func pace(times []time.Time) float64 {
	if len(times) < 2 {
		return 0
	}
	return times[len(times)-1].Sub(times[0]).Seconds() / float64(len(times)-1)
}

func differs(a, b float64) bool { return max(a, b)-min(a, b) > 0.3*min(a, b) }
