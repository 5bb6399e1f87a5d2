package trace

import (
	"cmp"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
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

// Filter selects entries. Empty fields select all.
type Filter struct {
	// Methods are names or patterns: RunPodSandbox, List*.
	Methods []string
	// Pods are [NAMESPACE/]POD, each part may be a pattern.
	Pods []string
	// Callers are PIDs, or names of processes, which may be patterns.
	Callers []string
	// Slower selects calls that took as long or longer.
	Slower time.Duration
	Failed bool
}

// Selects reports whether the filter selects an entry.
func (f Filter) Selects(e *Entry) bool {
	return anyOf(f.Methods, func(p string) bool { return matches(p, e.Method) }) &&
		anyOf(f.Pods, func(p string) bool { return matchesPod(p, e.Target) }) &&
		anyOf(f.Callers, func(p string) bool { return p == strconv.Itoa(e.Caller.PID) || matches(p, e.Caller.Comm) }) &&
		e.Took >= f.Slower && (!f.Failed || e.Failed())
}

// Check returns the first pattern that is none, "" if there is none.
func (f Filter) Check() string {
	for _, patterns := range [][]string{f.Methods, f.Pods, f.Callers} {
		for _, p := range patterns {
			if _, err := path.Match(p, ""); err != nil {
				return p
			}
		}
	}
	return ""
}

func anyOf(patterns []string, match func(string) bool) bool {
	return len(patterns) == 0 || slices.ContainsFunc(patterns, match)
}

func matches(pattern, text string) bool {
	ok, err := path.Match(strings.ToLower(pattern), strings.ToLower(text))
	return err == nil && ok
}

func matchesPod(pattern string, t Target) bool {
	namespace, name, ok := strings.Cut(pattern, "/")
	if !ok {
		return t.Pod != "" && matches(pattern, t.Pod)
	}
	return matches(namespace, t.Namespace) && matches(name, t.Pod)
}
