package lab

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/lab/relay"
	"github.com/podctl/podctl/internal/lab/trace"
	"github.com/podctl/podctl/internal/lab/tracing"
)

// newTracePrinter returns the printer of the format.
func newTracePrinter(e *shell.Env, o traceOptions) (tracing.Printer, error) {
	to := destination{Writer: e.Out, env: e, tty: e.TTY}
	switch {
	case o.file != "":
		f, err := shell.CreateFile(e, o.file)
		if err != nil {
			return nil, err
		}
		to = destination{Writer: output.NewWriter(f), env: e, closer: f}
	case len(o.command) > 0:
		to.Writer = e.Errw
	}
	if !o.format.IsTable() {
		return &dataPrinter{destination: to, stream: o.format.NewStream(to)}, nil
	}
	return newTablePrinter(to, o), nil
}

// destination is what a trace is written to.
type destination struct {
	io.Writer
	env    *shell.Env
	tty    bool
	closer io.Closer // nil for a standard stream
}

// Close implements tracing.Printer.
func (d destination) Close() error {
	if d.closer == nil {
		return nil
	}
	return d.closer.Close()
}

// Missed implements tracing.Printer: it is about the trace, and on standard error.
func (d destination) Missed(m relay.Missed) error {
	_, err := fmt.Fprintf(d.env.Errw, "warning: %s\n", missedText(m))
	return err
}

func missedText(m relay.Missed) string {
	if m.HTTP2 {
		return fmt.Sprintf("further calls of %s pass, and are not seen: %s", m.Caller, m.Reason)
	}
	return fmt.Sprintf("a connection of %s: %s", m.Caller, m.Reason)
}

// dataPrinter prints one object for each call.
type dataPrinter struct {
	destination
	stream *output.Stream
}

// Begin implements tracing.Printer.
func (p *dataPrinter) Begin() error { return nil }

// Entry implements tracing.Printer.
func (p *dataPrinter) Entry(e *trace.Entry) error { return p.stream.Print(e.Method, e.Data()) }

// Summary implements tracing.Printer.
func (p *dataPrinter) Summary(at time.Time, all *trace.Summary, inFlight []*trace.Entry, took time.Duration) error {
	s := summaryOf(all, inFlight, took)
	s.Type, s.Time = "summary", at
	return p.stream.Print("", s)
}

// tablePrinter prints a table.
type tablePrinter struct {
	destination
	table     *output.Table
	full      bool // nothing is cut
	noHeaders bool
	color     bool
}

func newTablePrinter(to destination, o traceOptions) *tablePrinter {
	p := &tablePrinter{
		destination: to, full: o.NoTrunc || !to.tty, noHeaders: o.format.NoHeaders || o.quiet, color: to.tty && !o.NoColor && !to.env.NoColor,
		table: output.NewTable([]string{"TIME", "CALLER", "CALL", "TARGET", "TOOK", "RESULT"}, 3, 5),
	}
	for column, usual := range []string{"15:04:05.000", "kubelet 1234567", "ListContainerStats", "docker.io/library/busybox:1.37", "1.23ms"} {
		p.table.Expect(column, usual)
	}
	return p
}

// Begin implements tracing.Printer.
func (p *tablePrinter) Begin() error {
	if p.noHeaders {
		return nil
	}
	_, err := fmt.Fprintln(p, p.table.Header(p.width()))
	return err
}

func (p *tablePrinter) width() int { return p.env.TableWidth(p.full) }

// Entry implements tracing.Printer.
func (p *tablePrinter) Entry(e *trace.Entry) error {
	took := tookText(e.Took)
	if e.InFlight {
		took += "…"
	}
	line := p.table.Row([]string{output.Clock(e.Start), e.Caller.String(), e.Method, e.Target.String(), took, e.Result()}, p.width())
	if p.color && e.Failed() {
		line = output.Red + line + output.Plain
	}
	_, err := io.WriteString(output.Raw(p.Writer), line+"\n")
	return err
}

// tookText is the duration of a call.
func tookText(d time.Duration) string {
	if d < time.Millisecond {
		return fmt.Sprintf("%dµs", d.Microseconds())
	}
	return output.ShortTime(d)
}

// Summary implements tracing.Printer.
func (p *tablePrinter) Summary(_ time.Time, s *trace.Summary, inFlight []*trace.Entry, took time.Duration) error {
	_, err := io.WriteString(p, summaryOf(s, inFlight, took).text())
	return err
}

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
		rows = append(rows, []string{tookText(e.Took), output.Clock(e.Start), e.Caller.String(), e.Method, e.Target.String(), e.Result()})
	}
	return rows
}

// addTable adds a table, aligned.
func (summaryData) addTable(b *strings.Builder, title string, table *output.Table, rows [][]string) {
	lines := table.Rows(rows, 0)
	b.WriteString(title + strings.Join(append([]string{table.Header(0)}, lines...), "\n") + "\n")
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }
