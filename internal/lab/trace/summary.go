package trace

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/podctl/podctl/internal/sys/quantile"
)

// slowest is how many calls a summary names.
const slowest = 10

// MethodSummary is what calls of one method took.
type MethodSummary struct {
	Method             string
	Count, Errors      int
	P50, P95, P99, Max time.Duration
}

// Summary counts entries. The zero value has none. Streams are counted, and their
// durations, which their callers choose, are not.
type Summary struct {
	methods map[string]*durations
	slow    []*Entry
}

// maxDurations bounds the durations of a method that percentiles are made of: the newest.
const maxDurations = 100_000

type durations struct {
	count, errors int
	took          []time.Duration
	max           time.Duration
}

// Add counts an entry that has ended.
func (s *Summary) Add(e *Entry) {
	if s.methods == nil {
		s.methods = map[string]*durations{}
	}
	d := s.methods[e.Method]
	if d == nil {
		d = &durations{}
		s.methods[e.Method] = d
	}
	d.count++
	if e.Failed() {
		d.errors++
	}
	if e.Stream {
		return
	}
	d.max = max(d.max, e.Took)
	if len(d.took) < maxDurations {
		d.took = append(d.took, e.Took)
	} else {
		d.took[d.count%maxDurations] = e.Took
	}
	if len(s.slow) < slowest || e.Took > s.slow[len(s.slow)-1].Took {
		at, _ := slices.BinarySearchFunc(s.slow, e, func(a, b *Entry) int { return cmp.Compare(b.Took, a.Took) })
		brief := *e
		brief.request, brief.response = nil, nil
		s.slow = slices.Insert(s.slow, at, &brief)
		s.slow = s.slow[:min(len(s.slow), slowest)]
	}
}

// Methods returns the methods, sorted by name.
func (s *Summary) Methods() []MethodSummary {
	all := make([]MethodSummary, 0, len(s.methods))
	for _, name := range slices.Sorted(maps.Keys(s.methods)) {
		d := s.methods[name]
		took := slices.Sorted(slices.Values(d.took))
		all = append(all, MethodSummary{name, d.count, d.errors, quantile.Of(took, 0.5), quantile.Of(took, 0.95), quantile.Of(took, 0.99), d.max})
	}
	return all
}

// Slowest returns the slowest calls, the slowest first.
func (s *Summary) Slowest() []*Entry { return s.slow }
