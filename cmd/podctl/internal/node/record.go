package node

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/lab/tape"
)

// recordOptions are the options of `podctl record`.
type recordOptions struct {
	shell.Globals
	format output.Format
	file   string // "-" is stdout
	last   time.Duration
	period time.Duration
}

func recordCommand(e *shell.Env) *cmdline.Command {
	return &cmdline.Command{
		Name:    "record",
		Usage:   "record the runtime's answers in a file, which other commands read in place of the runtime",
		Args:    cmdline.Args{Of: cmdline.File, Instead: func(string) string { return "podctl record FILE, or - for stdout" }},
		Effect:  cmdline.ChangesIf(func(c *cli.Context) bool { return c.Args().First() != "-" }, "-"),
		OnNodes: cmdline.NotOnNodes,
		Data:    []any{RecordSummary{}},
		Description: "Asks the runtime once for everything that only reads: its version, status and configuration,\n" +
			"lists, the verbose status of each sandbox and container, images and statistics. With --for it\n" +
			"goes on for that long, lists every --relist-period and after each event of the runtime, and\n" +
			"records what changes. Ctrl-C ends it early, and the recording is complete. At the end it\n" +
			"records what the owners of the pods say, and the processes and cgroups of the node.\n" +
			"podctl -r tape:FILE COMMAND looks at the recording, on any machine: podctl help recordings.\n" +
			"Secrets are masked as in podctl report. Look through the file before you send it: zcat FILE.\n" +
			"Only its owner can read the file. A file that exists is not replaced.\n" +
			"-o is " + output.ReportFormats + ".",
		Flags: []cli.Flag{
			&cli.DurationFlag{Name: "for", DefaultText: "once", Usage: "record what happens for this `DURATION`"},
			&cli.DurationFlag{Name: "relist-period", Value: time.Second, DefaultText: "1s", Usage: "`DURATION` between two lists with --for"},
			shell.NoHeadersFlag(),
		},
		Action: func(c *cli.Context) error {
			o := recordOptions{Globals: shell.ReadGlobals(c), file: c.Args().First(), last: c.Duration("for"), period: c.Duration("relist-period")}
			var err error
			if o.format, err = shell.ReadReportOutput(c); err != nil {
				return err
			}
			switch {
			case o.last < 0:
				return shell.Usagef("--for %s is negative", o.last)
			case o.period < time.Millisecond:
				return shell.Usagef("--relist-period %s is less than 1ms", o.period)
			}
			return runRecord(c.Context, e, o)
		},
	}
}

func runRecord(ctx context.Context, e *shell.Env, o recordOptions) error {
	r, err := StartRecording(ctx, e, o.Globals, o.file)
	if err != nil {
		return err
	}
	s, err := r.Finish(ctx, o.record(ctx, r))
	if err != nil {
		return err
	}
	return o.print(e, s)
}

// record records until the time is over, or an interrupt, which is no error once everything was
// asked.
func (o recordOptions) record(ctx context.Context, r *Recording) error {
	end := r.steps.Begin("answers of the runtime")
	err := r.env.UntilInterrupted(ctx, r.Snapshot)
	end()
	if err != nil || o.last == 0 {
		return err
	}
	ctx, interrupted := r.env.UntilInterrupt(ctx)
	defer interrupted()
	return r.Follow(ctx, o.last, o.period, r.client.Connected().BroadcastsEvents())
}

// RecordSummary is the output of `podctl record`, on stderr if the recording itself is on
// stdout.
type RecordSummary struct {
	File    string  `json:"file"`    // - is stdout
	Runtime string  `json:"runtime"` // name and version
	Seconds float64 `json:"seconds"` // duration of the recording
	Bytes   int64   `json:"bytes"`   // size of the file
	Answers int     `json:"answers"` // answers of the runtime, of which each differs from the one before
	Errors  int     `json:"errors"`  // errors in place of answers
	Events  int     `json:"events"`  // events of the runtime
	Masked  int     `json:"masked"`  // texts that are masked
	// objects, such as pods with large annotations, of which parts were left out
	Cut []string `json:"cut,omitempty"`
}

func newRecordSummary(file, runtime string, c tape.Count) RecordSummary {
	return RecordSummary{
		File: file, Runtime: runtime, Seconds: c.Span.Seconds(), Bytes: c.Bytes, Answers: c.Answers - c.Events, Errors: c.Errors, Events: c.Events, Masked: c.Masked, Cut: c.Cut,
	}
}

func (o recordOptions) print(e *shell.Env, s RecordSummary) error {
	out := e.Out
	if o.file == "-" {
		out = e.Errw
	}
	if !o.format.IsTable() {
		return o.format.NewStream(out).Print("", s)
	}
	_, err := io.WriteString(out, s.Text(o.last > 0)+"\n")
	return err
}

// Text is the summary as a person reads it; span: with its duration.
func (s RecordSummary) Text(span bool) string {
	text := "recorded " + s.Runtime
	if span {
		text += " for " + output.Age(time.Duration(s.Seconds*float64(time.Second)))
	}
	text += ": " + output.Plural(s.Answers, "answer")
	if s.Errors > 0 {
		text += fmt.Sprintf(", %d of them errors", s.Errors)
	}
	if s.Events > 0 {
		text += ", " + output.Plural(s.Events, "event")
	}
	text += fmt.Sprintf(" · %s masked · %s", output.Plural(s.Masked, "text"), sizeText(s.Bytes))
	if n := len(s.Cut); n > 0 {
		const shown = 5
		text += fmt.Sprintf("\nwarning: %s too large, and cut: %s", output.Plural(n, "object"), output.OneLine(strings.Join(s.Cut[:min(n, shown)], ", ")))
		if n > shown {
			text += fmt.Sprintf(" and %d more", n-shown)
		}
	}
	if s.File != "-" {
		text += fmt.Sprintf("\nhint: podctl -r tape:%s pods", s.File)
	}
	return text
}

// sizeText is a size in whole units.
func sizeText(n int64) string {
	switch {
	case n < 1<<10:
		return output.Plural(int(n), "byte")
	case n < 1<<20:
		return fmt.Sprintf("%d KiB", n>>10)
	default:
		return fmt.Sprintf("%d MiB", n>>20)
	}
}
