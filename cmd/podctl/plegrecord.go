package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/internal/pleg"
	"github.com/podctl/podctl/internal/pleg/tape"
)

// recordOptions are what `podctl pleg record` was asked for.
type recordOptions struct {
	globals
	file   string // "-" is stdout
	force  bool
	last   time.Duration // how long to record, 0 is until an interrupt
	source plegSource
	period time.Duration
}

func plegRecordCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "record",
		Usage:     "write down what the runtime tells the PLEG, for podctl pleg replay",
		ArgsUsage: "FILE|-",
		Description: "Ctrl-C ends it, says what was recorded, and exits with 0. The file has each list,\n" +
			"status and event of the runtime, with times, as JSON, one object a line. It holds names,\n" +
			"ids, states, addresses of pods, exit codes and the texts of the runtime's errors. It does\n" +
			"not hold labels, annotations, environments, commands, arguments, images, mounts or\n" +
			"termination messages.",
		Flags: append([]cli.Flag{
			&cli.DurationFlag{Name: "for", DefaultText: "until Ctrl-C", Usage: "end after this `TIME`"},
			&cli.BoolFlag{Name: "force", Usage: "overwrite FILE if it is there"},
		}, sourceFlags()...),
		Action: func(c *cli.Context) error {
			o := recordOptions{globals: readGlobals(c), file: c.Args().First(), force: c.Bool("force"), last: c.Duration("for")}
			var err error
			if o.source, o.period, err = readSource(c); err != nil {
				return err
			}
			switch {
			case c.NArg() != 1:
				return &usageError{message: fmt.Sprintf("one FILE is needed, %d given", c.NArg()), hint: "podctl pleg record FILE, or - for stdout"}
			case o.output != "" && o.output != "json":
				return usagef("--output %q: record prints text, or json", o.output)
			case o.last < 0:
				return usagef("--for %s is negative", o.last)
			case o.period < time.Millisecond:
				return usagef("--relist-period %s is less than 1ms", o.period)
			}
			return runRecord(c.Context, e, o)
		},
	}
}

// runRecord records until it is interrupted or the time is up.
func runRecord(ctx context.Context, e *env, o recordOptions) (err error) {
	if err := o.checkFile(); err != nil {
		return err
	}
	var recorder *tape.Recorder
	session, err := beginPLEG(ctx, e, o.globals, plegOptions{source: o.source, period: o.period, wrap: func(rt pleg.Runtime) pleg.Runtime {
		recorder = tape.NewRecorder(rt, e.now)
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
	header := tape.Header{Podctl: version(), Runtime: session.version.String(), Period: tape.Duration(o.period), HintsOnly: o.source == sourceEvents}
	if err = recorder.Begin(out, header); err == nil {
		session.start(ctx)
		o.wait(e, recorder.Failed())
	}
	count, err := recorder.End()
	if err = errors.Join(err, out.Close()); err != nil {
		return err
	}
	return o.say(e, newRecordSummary(o.file, session.version.String(), count))
}

// wait returns when it is time to end.
func (o recordOptions) wait(e *env, failed <-chan struct{}) {
	var timeout <-chan time.Time
	if o.last > 0 {
		timer := time.NewTimer(o.last)
		defer timer.Stop()
		timeout = timer.C
	}
	select {
	case <-timeout:
	case <-failed:
	case <-e.interrupts:
	}
}

// checkFile refuses a file that is there, before anything is asked of the
// runtime.
func (o recordOptions) checkFile() error {
	if o.file == "-" || o.force {
		return nil
	}
	switch _, err := os.Lstat(o.file); {
	case err == nil:
		return &existsError{o.file}
	case errors.Is(err, fs.ErrNotExist):
		return nil
	default:
		return err
	}
}

// open makes the file. It is for the user alone: it shows the inside of a node.
func (o recordOptions) open(e *env) (io.WriteCloser, error) {
	if o.file == "-" {
		return unclosed{e.out}, nil
	}
	flags := os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	if !o.force {
		flags |= os.O_EXCL
	}
	f, err := os.OpenFile(o.file, flags, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil, &existsError{o.file}
	}
	return f, err
}

// unclosed is stdout: whoever opened it closes it.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }

// existsError: a recording is not overwritten by mistake.
type existsError struct{ file string }

func (e *existsError) Error() string { return fmt.Sprintf("%q is there already", e.file) }
func (*existsError) Hint() string    { return "another name, or --force" }
