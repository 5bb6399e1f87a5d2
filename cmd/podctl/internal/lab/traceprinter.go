package lab

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/lab/relay"
	"github.com/podctl/podctl/internal/lab/trace"
)

// tracePrinter prints a trace. Its errors are those of the output.
type tracePrinter interface {
	begin() error
	entry(*trace.Entry) error
	missed(relay.Missed) error
	summary(at time.Time, s summaryData) error
	// close ends the output.
	close() error
}

// newTracePrinter returns the printer of the format.
func newTracePrinter(e *shell.Env, o traceOptions) (tracePrinter, error) {
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

func (d destination) close() error {
	if d.closer == nil {
		return nil
	}
	return d.closer.Close()
}

// missed is on standard error: it is about the trace.
func (d destination) missed(m relay.Missed) error {
	_, err := fmt.Fprintf(d.env.Errw, "warning: %s\n", missedText(m))
	return err
}

func missedText(m relay.Missed) string {
	caller := callerText(m.Caller)
	if m.HTTP2 {
		return fmt.Sprintf("further calls of %s pass, and are not seen: %s", caller, m.Reason)
	}
	return fmt.Sprintf("a connection of %s: %s", caller, m.Reason)
}

// callerText is "crictl 9311".
func callerText(c relay.Caller) string {
	if c.PID == 0 {
		return "unknown"
	}
	return strings.TrimSpace(fmt.Sprintf("%s %d", c.Comm, c.PID))
}

// dataPrinter prints one object for each call.
type dataPrinter struct {
	destination
	stream *output.Stream
}

func (p *dataPrinter) begin() error { return nil }

func (p *dataPrinter) entry(e *trace.Entry) error { return p.stream.Print(e.Method, e.Data()) }

func (p *dataPrinter) summary(at time.Time, s summaryData) error {
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

func (p *tablePrinter) begin() error {
	if p.noHeaders {
		return nil
	}
	_, err := fmt.Fprintln(p, p.table.Header(p.width()))
	return err
}

func (p *tablePrinter) width() int { return p.env.TableWidth(p.full) }

func (p *tablePrinter) entry(e *trace.Entry) error {
	took := tookText(e.Took)
	if e.InFlight {
		took += "…"
	}
	line := p.table.Row([]string{output.Clock(e.Start), callerText(e.Caller), e.Method, e.Target.String(), took, e.Result()}, p.width())
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

func (p *tablePrinter) summary(_ time.Time, s summaryData) error {
	_, err := io.WriteString(p, s.text())
	return err
}
