package pleg

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/pleg"
	"github.com/podctl/podctl/internal/pleg/tape"
	"github.com/podctl/podctl/internal/sys/hint"
)

// recordOptions are the options of `podctl pleg record`.
type recordOptions struct {
	shell.Globals
	format output.Format
	file   string // "-" is stdout
	force  bool
	last   time.Duration // duration of the recording; 0: until an interrupt
	source eventSource
	period time.Duration
}

func recordCommand(e *shell.Env) *cmdline.Command {
	return &cmdline.Command{
		Name:   "record",
		Usage:  "record the runtime's answers to the PLEG, for podctl pleg replay",
		Args:   cmdline.Args{Of: cmdline.File, Instead: func(string) string { return "podctl pleg record FILE, or - for stdout" }},
		Effect: cmdline.ChangesIf(func(c *cli.Context) bool { return c.Args().First() != "-" }, "-"),
		Data:   []any{RecordSummary{}},
		Description: "Ctrl-C stops the recording, prints a summary and exits with code 0. The file holds each list,\n" +
			"status and event of the runtime with its time, one JSON object per line: names, ids,\n" +
			"states, pod addresses, exit codes and the messages of the runtime's errors. It does not\n" +
			"hold labels, annotations, environment variables, commands, arguments, images, mounts or\n" +
			"termination messages.\n" +
			"-o is " + output.ReportFormats + ".",
		Flags: append([]cli.Flag{
			&cli.DurationFlag{Name: "for", DefaultText: "until Ctrl-C", Usage: "stop after this `DURATION`"},
			&cli.BoolFlag{Name: "force", Usage: "overwrite FILE if it exists"},
			shell.NoHeadersFlag(),
		}, sourceFlags()...),
		Action: func(c *cli.Context) error {
			o := recordOptions{Globals: shell.ReadGlobals(c), file: c.Args().First(), force: c.Bool("force"), last: c.Duration("for")}
			var err error
			if o.source, o.period, err = readSource(c); err != nil {
				return err
			}
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

// runRecord records until it is interrupted or the time is up.
func runRecord(ctx context.Context, e *shell.Env, o recordOptions) (err error) {
	if err := o.checkFile(); err != nil {
		return err
	}
	var recorder *tape.Recorder
	session, err := openUntilInterrupt(ctx, e, o.Globals, sessionOptions{source: o.source, period: o.period, wrap: func(rt pleg.Runtime) pleg.Runtime {
		recorder = tape.NewRecorder(rt, e.Now)
		return recorder
	}})
	if err != nil {
		return err
	}
	defer session.Close()
	out, err := o.open(e)
	if err != nil {
		return err
	}
	header := tape.Header{Podctl: shell.Version(), Runtime: session.version.String(), Period: tape.Duration(o.period), HintsOnly: o.source == sourceEvents}
	if err = recorder.Begin(out, header); err == nil {
		session.start(ctx)
		o.wait(e, recorder.Failed())
	}
	count, err := recorder.End()
	if err = errors.Join(err, out.Close()); err != nil {
		return err
	}
	return o.print(e, newRecordSummary(o.file, session.version.String(), count))
}

// wait returns when the recording ends.
func (o recordOptions) wait(e *shell.Env, failed <-chan struct{}) {
	var timeout <-chan time.Time
	if o.last > 0 {
		timer := time.NewTimer(o.last)
		defer timer.Stop()
		timeout = timer.C
	}
	select {
	case <-timeout:
	case <-failed:
	case <-e.Interrupts:
	}
}

// checkFile refuses an existing file before any call to the runtime.
func (o recordOptions) checkFile() error {
	if o.file == "-" || o.force {
		return nil
	}
	switch _, err := os.Lstat(o.file); {
	case err == nil:
		return existsError(o.file)
	case errors.Is(err, fs.ErrNotExist):
		return nil
	default:
		return err
	}
}

// open creates the file. Only the user may read it: it shows details of a node.
func (o recordOptions) open(e *shell.Env) (io.WriteCloser, error) {
	if o.file == "-" {
		return unclosed{output.Raw(e.Out)}, nil
	}
	flags := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	if !o.force {
		flags |= os.O_EXCL
	}
	f, err := os.OpenFile(o.file, flags, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil, existsError(o.file)
	}
	return f, err
}

// unclosed is stdout, which stays open.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }

// existsError returns the error for a recording that would be overwritten.
func existsError(file string) error {
	return hint.Errorf("choose another name, or use --force", "%q already exists", file)
}

// RecordSummary is the output of `podctl pleg record`, on stderr if the
// recording itself is on stdout.
type RecordSummary struct {
	File        string  `json:"file"`        // - is stdout
	Runtime     string  `json:"runtime"`     // name and version
	Seconds     float64 `json:"seconds"`     // duration of the recording
	Bytes       int64   `json:"bytes"`       // size of the recording
	Relists     int     `json:"relists"`     // lists of all pods
	PodRelists  int     `json:"podRelists"`  // lists of one pod
	StatusReads int     `json:"statusReads"` // reads of a pod's status
	Hints       int     `json:"hints"`       // events of the runtime
	Errors      int     `json:"errors"`      // lists and reads that failed
}

func newRecordSummary(file, runtime string, c tape.Count) RecordSummary {
	return RecordSummary{
		File: file, Runtime: runtime, Seconds: c.Span.Seconds(), Bytes: c.Bytes, Relists: c.Relists, PodRelists: c.PodRelists,
		StatusReads: c.Statuses, Hints: c.Hints, Errors: c.Errors,
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
	_, err := io.WriteString(out, s.text()+"\n")
	return err
}

func (s RecordSummary) text() string {
	text := fmt.Sprintf("recorded %s of %s: %s, %s of one pod, %s, %s", output.Age(seconds(s.Seconds)), s.Runtime,
		output.Plural(s.Relists, "full relist"), output.Plural(s.PodRelists, "relist"), output.Plural(s.StatusReads, "status read"), output.Plural(s.Hints, "hint"))
	if s.Errors > 0 {
		text += fmt.Sprintf(" · %d of these calls failed", s.Errors)
	}
	text += " · " + sizeText(s.Bytes)
	if s.File != "-" {
		text += fmt.Sprintf("\nhint: podctl pleg replay %s", s.File)
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
