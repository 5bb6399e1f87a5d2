package lab

import (
	"fmt"
	"io"
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
		destination: to, full: o.NoTrunc || !to.tty, noHeaders: o.format.NoHeaders, color: to.tty && !o.NoColor && !to.env.NoColor,
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
