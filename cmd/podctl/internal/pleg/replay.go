package pleg

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/pleg"
	"github.com/podctl/podctl/internal/pleg/plegstat"
	"github.com/podctl/podctl/internal/pleg/tape"
)

// replayOptions are the options of `podctl pleg replay`. Those of watch select
// what is printed.
type replayOptions struct {
	watchOptions
	file     string // "-" is stdin
	realtime bool
}

func replayCommand(e *shell.Env) *cmdline.Command {
	return &cmdline.Command{
		Name:   "replay",
		Usage:  "replay a recording through podctl's PLEG, and print the events as watch does",
		Args:   cmdline.Args{Of: cmdline.File, Instead: func(string) string { return "podctl pleg replay FILE, or - for stdin" }},
		Effect: cmdline.Reads,
		Description: "Times are those of the recording. The same version of podctl prints the events that a watch\n" +
			"would have printed during the recording, with -o json the same lines.\n" +
			"A truncated recording is replayed as far as it goes; the exit code is then 1.\n" +
			"-o is " + output.StreamFormats + ".",
		Flags: append([]cli.Flag{
			&cli.BoolFlag{Name: "realtime", Usage: "replay at the speed of the recording instead of as fast as possible"},
			&cli.BoolFlag{Name: "initial", Usage: "first print the existing containers as events"},
			shell.NoHeadersFlag(),
		}, filterFlags()...),
		Action: func(c *cli.Context) error {
			o := replayOptions{
				watchOptions: watchOptions{Globals: shell.ReadGlobals(c), initial: c.Bool("initial")},
				file:         c.Args().First(), realtime: c.Bool("realtime"),
			}
			var err error
			// A recording has no labels, so there is no --selector.
			if o.filter, err = readFilter(c); err != nil {
				return err
			}
			if o.format, err = shell.ReadOutput(c); err != nil {
				return err
			}
			return runReplay(c.Context, e, o)
		},
	}
}

// runReplay prints the events that the PLEG makes of a recording.
func runReplay(ctx context.Context, e *shell.Env, o replayOptions) error {
	return e.UntilInterrupted(ctx, func(ctx context.Context) error { return replay(ctx, e, o) })
}

func replay(ctx context.Context, e *shell.Env, o replayOptions) error {
	name, in := "standard input", io.Reader(&interruptible{ctx, e.In})
	if o.file != "-" {
		f, err := os.Open(o.file)
		if err != nil {
			return err
		}
		defer f.Close()
		name, in = o.file, f
	}
	recording, err := tape.NewReader(name, in)
	if err != nil {
		return err
	}
	r := &replaySession{env: e, opts: o, printer: newWatchPrinter(e, o.watchOptions), began: e.Now()}
	r.start = recording.Header.Start.Local()
	r.clock = r.start
	r.meter = plegstat.NewMeter(func() time.Time { return r.clock })
	return r.run(ctx, recording)
}

// replaySession is one run of `podctl pleg replay`.
type replaySession struct {
	env     *shell.Env
	opts    replayOptions
	printer watchPrinter
	meter   *plegstat.Meter
	stats   plegstat.WatchStats
	// began is when the replay began, start when the recording began, and clock
	// the time of the recording that the replay has reached.
	began, start, clock time.Time
	// err is the error of the output.
	err error
}

func (r *replaySession) run(ctx context.Context, recording *tape.Reader) error {
	h := recording.Header
	if err := r.printer.begin(nil); err != nil {
		return err
	}
	if err := r.printer.note(r.start, fmt.Sprintf("recorded %s by podctl %s on %s", r.start.Format("2006-01-02 15:04:05 MST"), h.Podctl, h.Runtime)); err != nil {
		return err
	}
	report, err := tape.Play(ctx, recording, tape.PlayOptions{Events: r.events, Wait: r.wait, Observer: r.meter, Log: r.env.Log})
	if r.err != nil {
		return r.err
	}
	if err != nil && !errors.Is(err, tape.ErrCutOff) {
		return err
	}
	r.clock = r.start.Add(report.Span)
	r.env.Log.Info("replayed", "op", "replay", "missing", report.Missing, "unasked", report.Unasked)
	if err := r.notes(); err != nil {
		return err
	}
	return errors.Join(r.printer.summary(r.clock, r.stats.Summary(report.Span, r.meter, report.Unhinted)), err)
}

// wait advances the clock, and with --realtime waits for it.
func (r *replaySession) wait(ctx context.Context, until time.Time) error {
	if r.err = errors.Join(r.err, r.notes()); r.err != nil {
		return r.err
	}
	r.clock = until.Local()
	if !r.opts.realtime {
		return nil
	}
	return shell.Sleep(ctx, r.clock.Sub(r.start)-r.env.Now().Sub(r.began))
}

func (r *replaySession) notes() error {
	for _, n := range r.meter.Take() {
		if err := r.printer.note(n.At, noteText(n)); err != nil {
			return err
		}
	}
	return nil
}

func (r *replaySession) events(now time.Time, events []pleg.Event) {
	var seen []plegstat.Event
	for _, ev := range events {
		if ev.Initial && !r.opts.initial || !r.opts.filter.Matches(ev) {
			continue
		}
		s := plegstat.Event{Event: ev, Received: now.Local()}
		r.stats.Add(s)
		seen = append(seen, s)
	}
	if r.err == nil {
		r.err = r.notes()
	}
	if r.err == nil && len(seen) > 0 {
		r.err = r.printer.events(seen)
	}
}

// interruptible is a reader that stops waiting when its context ends.
type interruptible struct {
	ctx context.Context
	in  io.Reader
}

func (i *interruptible) Read(b []byte) (int, error) {
	type result struct {
		data []byte
		err  error
	}
	done := make(chan result, 1)
	size := len(b)
	go func() {
		data := make([]byte, size) // b belongs to the caller again after an interrupt
		n, err := i.in.Read(data)
		done <- result{data[:n], err}
	}()
	select {
	case r := <-done:
		return copy(b, r.data), r.err
	case <-i.ctx.Done():
		return 0, i.ctx.Err()
	}
}
