package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/podctl/podctl/internal/pleg/tape"
)

// recordSummary is what `podctl pleg record` ends with; on stderr if the
// recording itself is on stdout.
type recordSummary struct {
	File        string  `json:"file"`        // - is stdout
	Runtime     string  `json:"runtime"`     // its name and version
	Seconds     float64 `json:"seconds"`     // how long it recorded
	Bytes       int64   `json:"bytes"`       // the size of the recording
	Relists     int     `json:"relists"`     // lists of all pods
	PodRelists  int     `json:"podRelists"`  // lists of one pod
	StatusReads int     `json:"statusReads"` // readings of a pod's status
	Hints       int     `json:"hints"`       // events of the runtime
	Errors      int     `json:"errors"`      // how many of the lists and readings failed
}

func newRecordSummary(file, runtime string, c tape.Count) recordSummary {
	return recordSummary{
		File: file, Runtime: runtime, Seconds: c.Span.Seconds(), Bytes: c.Bytes, Relists: c.Relists, PodRelists: c.PodRelists,
		StatusReads: c.Statuses, Hints: c.Hints, Errors: c.Errors,
	}
}

func (o recordOptions) say(e *env, s recordSummary) error {
	out := e.out
	if o.file == "-" {
		out = e.errw
	}
	if o.output == "json" {
		return json.NewEncoder(out).Encode(s)
	}
	_, err := io.WriteString(out, s.text()+"\n")
	return err
}

func (s recordSummary) text() string {
	text := fmt.Sprintf("recorded %s of %s: %s, %s of one pod, %s, %s", ageText(seconds(s.Seconds)), s.Runtime,
		plural(s.Relists, "full relist"), plural(s.PodRelists, "relist"), plural(s.StatusReads, "status read"), plural(s.Hints, "hint"))
	if s.Errors > 0 {
		text += fmt.Sprintf(" · %d of these calls failed", s.Errors)
	}
	text += " · " + sizeText(s.Bytes)
	if s.File != "-" {
		text += fmt.Sprintf("\nit plays again with: podctl pleg replay %s", s.File)
	}
	return text
}

// sizeText is a size in whole units.
func sizeText(n int64) string {
	switch {
	case n < 1<<10:
		return plural(int(n), "byte")
	case n < 1<<20:
		return fmt.Sprintf("%d KiB", n>>10)
	default:
		return fmt.Sprintf("%d MiB", n>>20)
	}
}
