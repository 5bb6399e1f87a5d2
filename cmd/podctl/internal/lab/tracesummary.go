package lab

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/internal/lab/trace"
)

// summaryData is the last line of -o json with --summary.
type summaryData struct {
	Type     string       `json:"type"`     // summary
	Time     time.Time    `json:"time"`     // of the end
	Seconds  float64      `json:"seconds"`  // how long the trace was
	Methods  []methodData `json:"methods"`  // sorted by name
	Slowest  []trace.Data `json:"slowest"`  // the slowest calls, without their messages
	InFlight []trace.Data `json:"inFlight"` // calls that had not ended, the oldest first

	slowest, inFlight []*trace.Entry
}

// methodData is what the calls of one method took.
type methodData struct {
	Method string `json:"method"`
	Count  int    `json:"count"`
	Errors int    `json:"errors"`
	// Durations in seconds, 0 for a stream, whose duration its caller chooses.
	P50 float64 `json:"p50Seconds"`
	P95 float64 `json:"p95Seconds"`
	P99 float64 `json:"p99Seconds"`
	Max float64 `json:"maxSeconds"`
}

func summaryOf(s *trace.Summary, inFlight []*trace.Entry, took time.Duration) summaryData {
	d := summaryData{
		Seconds: took.Seconds(), Methods: []methodData{}, Slowest: []trace.Data{}, InFlight: []trace.Data{},
		slowest: s.Slowest(), inFlight: inFlight,
	}
	for _, m := range s.Methods() {
		d.Methods = append(d.Methods, methodData{m.Method, m.Count, m.Errors, m.P50.Seconds(), m.P95.Seconds(), m.P99.Seconds(), m.Max.Seconds()})
	}
	for _, e := range d.slowest {
		d.Slowest = append(d.Slowest, e.Data())
	}
	for _, e := range inFlight {
		d.InFlight = append(d.InFlight, e.Data())
	}
	return d
}

// text is the summary for a person.
func (s summaryData) text() string {
	var b strings.Builder
	calls, errors := 0, 0
	for _, m := range s.Methods {
		calls, errors = calls+m.Count, errors+m.Errors
	}
	fmt.Fprintf(&b, "%s in %s, %s, %d in flight\n", output.Plural(calls, "call"), output.ShortTime(seconds(s.Seconds)), output.Plural(errors, "error"), len(s.inFlight))
	if calls > 0 {
		table := output.NewTable([]string{"METHOD", "COUNT", "ERRORS", "P50", "P95", "P99", "MAX"})
		var rows [][]string
		for _, m := range s.Methods {
			row := []string{m.Method, strconv.Itoa(m.Count), strconv.Itoa(m.Errors)}
			for _, d := range []float64{m.P50, m.P95, m.P99, m.Max} {
				if m.Max == 0 { // only streams
					row = append(row, "-")
				} else {
					row = append(row, tookText(seconds(d)))
				}
			}
			rows = append(rows, row)
		}
		s.addTable(&b, "", table, rows)
	}
	if len(s.slowest) > 0 {
		s.addTable(&b, "\nthe slowest calls\n", output.NewTable(callHeader), callRows(s.slowest))
	}
	if len(s.inFlight) > 0 {
		s.addTable(&b, "\nin flight\n", output.NewTable(callHeader), callRows(s.inFlight))
	}
	return b.String()
}

var callHeader = []string{"TOOK", "TIME", "CALLER", "CALL", "TARGET", "RESULT"}

func callRows(entries []*trace.Entry) (rows [][]string) {
	for _, e := range entries {
		rows = append(rows, []string{tookText(e.Took), output.Clock(e.Start), callerText(e.Caller), e.Method, e.Target.String(), e.Result()})
	}
	return rows
}

// addTable adds a table, aligned.
func (summaryData) addTable(b *strings.Builder, title string, table *output.Table, rows [][]string) {
	lines := table.Rows(rows, 0)
	b.WriteString(title + strings.Join(append([]string{table.Header(0)}, lines...), "\n") + "\n")
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
