package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/podctl/podctl/internal/pod"
)

// print writes the report as it was asked for.
func (r checkReport) print(w io.Writer, o checkOptions) error {
	if o.output == "json" {
		return json.NewEncoder(w).Encode(r)
	}
	text := r.brief() + "\n"
	if !o.brief {
		text = r.text(o.noTrunc)
	}
	_, err := io.WriteString(w, text)
	return err
}

// brief is the report in a line, the most important first: some readers cut
// it.
func (r checkReport) brief() string {
	if r.Status != statusHealthy {
		return r.Status + ": " + oneLine(r.Reason)
	}
	return fmt.Sprintf("%s: %s · %s", r.Status, r.relists(), r.size())
}

// text is the report: the answer, what it waits for, then the numbers.
func (r checkReport) text(full bool) string {
	head := r.Status
	switch {
	case r.Unfinished != "" && len(r.Waits) > 0: // each has a line below
		head += ": no answer for " + ageText(seconds(r.Waits[0].Seconds))
	case r.Reason != "":
		head += ": " + oneLine(r.Reason)
	}
	lines := []string{head}
	add := func(format string, args ...any) { lines = append(lines, fmt.Sprintf("  "+format, args...)) }
	for _, w := range r.Waits {
		add("it waits for %s, since %s (%s)", oneLine(w.text(full)), ageText(seconds(w.Seconds)), clock(w.Since))
	}
	for _, e := range r.Errors {
		add("status of %s: %s", pod.DisplayName(e.Namespace, e.Name), oneLine(e.Message))
	}
	if r.Runtime == "" {
		return strings.Join(lines, "\n") + "\n"
	}
	if r.Unfinished != "" {
		add("answered: %s", r.Unfinished)
	}
	add("%s", r.relists())
	add("%s · %s at %s", r.size(), r.Runtime, r.Endpoint)
	if len(r.Slowest) > 0 {
		var slow []string
		for _, s := range r.Slowest {
			slow = append(slow, s.text())
		}
		add("slowest: %s", strings.Join(slow, ", "))
	}
	add("hints: %s", r.hintText())
	if len(r.Waits) > 0 && r.PID != 0 {
		add("hint: the runtime's goroutines, in its log: kill -USR1 %d", r.PID)
	}
	return strings.Join(lines, "\n") + "\n"
}

func (r checkReport) relists() string {
	if r.Samples == 0 {
		return "no relist was answered"
	}
	return fmt.Sprintf("relist p50 %s, p95 %s, max %s over %s",
		shortTime(seconds(r.RelistP50)), shortTime(seconds(r.RelistP95)), shortTime(seconds(r.RelistMax)), plural(r.Samples, "sample"))
}

func (r checkReport) size() string {
	return plural(r.Pods, "pod") + ", " + plural(r.Containers, "container")
}

func (r checkReport) hintText() string {
	switch r.Hints {
	case hintsBroadcast:
		return "yes, to every subscriber"
	case hintsNone:
		return "no: " + oneLine(r.NoHints)
	}
	return "not known: the runtime has not answered"
}

// text is "default/db 120ms (ContainerStatus of db 100ms)".
func (s checkSlow) text() string {
	about := "the sandbox"
	if s.Container != "" {
		about = s.Container
	}
	return fmt.Sprintf("%s %s (%s of %s %s)", oneLine(pod.DisplayName(s.Namespace, s.Name)), shortTime(seconds(s.Seconds)), s.Call, oneLine(about), shortTime(seconds(s.CallSeconds)))
}
