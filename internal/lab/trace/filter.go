package trace

import (
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
)

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
