package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/internal/pleg"
	"github.com/podctl/podctl/internal/pleg/tape"
)

// replayOptions are what `podctl pleg replay` was asked for. Those of watch
// say what is shown.
type replayOptions struct {
	watchOptions
	file     string // "-" is stdin
	realtime bool
}

func plegReplayCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:      "replay",
		Usage:     "run a recording through podctl's PLEG, and print its events as watch does",
		ArgsUsage: "FILE|-",
		Description: "The times are those of the recording. With the same podctl the events are those\n" +
			"that a watch would have shown there; -o json prints the same lines, too.\n" +
			"A recording that ends in the middle is replayed until there; then the exit code is 1.",
		Flags: append([]cli.Flag{
			&cli.BoolFlag{Name: "realtime", Usage: "take as long as it took then, and not as short as possible"},
			&cli.BoolFlag{Name: "initial", Usage: "first print what was there, as events"},
		}, filterFlags()...),
		Action: func(c *cli.Context) error {
			o := replayOptions{
				watchOptions: watchOptions{globals: readGlobals(c), initial: c.Bool("initial")},
				file:         c.Args().First(), realtime: c.Bool("realtime"),
			}
			var err error
			// A recording has no labels to select by.
			if o.filter, err = newEventFilter(c.String("namespace"), c.StringSlice("pod"), c.StringSlice("type"), ""); err != nil {
				return err
			}
			switch {
			case c.NArg() != 1:
				return &usageError{message: fmt.Sprintf("one FILE is needed, %d given", c.NArg()), hint: "podctl pleg replay FILE, or - for stdin"}
			case o.output != "" && o.output != "json":
				return usagef("--output %q: replay prints text, or json", o.output)
			}
			return runReplay(c.Context, e, o)
		},
	}
}

// runReplay prints what a recording makes of the PLEG.
func runReplay(ctx context.Context, e *env, o replayOptions) error {
	return e.untilInterrupted(ctx, func(ctx context.Context) error { return replay(ctx, e, o) })
}

func replay(ctx context.Context, e *env, o replayOptions) error {
	name, in := "standard input", io.Reader(&interruptible{ctx, e.in})
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
	r := &replaying{env: e, opts: o, printer: newWatchPrinter(e, o.watchOptions), began: e.now()}
	r.start = recording.Header.Start.Local()
	r.clock = r.start
	r.meter = newPLEGMeter(func() time.Time { return r.clock })
	return r.run(ctx, recording)
}

// replaying is a replay under way.
type replaying struct {
	env     *env
	opts    replayOptions
	printer watchPrinter
	meter   *plegMeter
	stats   watchStats
	// began is when the replay did, start when the recording did, and clock is
	// how far it has come.
	began, start, clock time.Time
	// err is the output's.
	err error
}

func (r *replaying) run(ctx context.Context, recording *tape.Reader) error {
	h := recording.Header
	if err := r.printer.begin(nil); err != nil {
		return err
	}
	if err := r.printer.note(r.start, fmt.Sprintf("recorded %s by podctl %s on %s", r.start.Format("2006-01-02 15:04:05 MST"), h.Podctl, h.Runtime)); err != nil {
		return err
	}
	report, err := tape.Play(ctx, recording, tape.PlayOptions{Events: r.events, Wait: r.wait, Observer: r.meter, Log: r.env.log})
	if r.err != nil {
		return r.err
	}
	if err != nil && !errors.Is(err, tape.ErrCutOff) {
		return err
	}
	r.clock = r.start.Add(report.Span)
	r.env.log.Info("replayed", "op", "replay", "missing", report.Missing, "unasked", report.Unasked)
	if err := r.notes(); err != nil {
		return err
	}
	return errors.Join(r.printer.summary(r.clock, r.stats.summary(report.Span, r.meter, report.Unhinted)), err)
}

// wait lets the clock go on, and in real time waits for it.
func (r *replaying) wait(ctx context.Context, until time.Time) error {
	if r.err = errors.Join(r.err, r.notes()); r.err != nil {
		return r.err
	}
	r.clock = until.Local()
	if !r.opts.realtime {
		return nil
	}
	timer := time.NewTimer(r.clock.Sub(r.start) - r.env.now().Sub(r.began))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (r *replaying) notes() error {
	for _, n := range r.meter.take() {
		if err := r.printer.note(n.at, n.text); err != nil {
			return err
		}
	}
	return nil
}

func (r *replaying) events(now time.Time, events []pleg.Event) {
	var seen []seenEvent
	for _, ev := range events {
		if ev.Initial && !r.opts.initial || !r.opts.filter.shows(ev) {
			continue
		}
		s := seenEvent{ev, now.Local()}
		r.stats.add(s)
		seen = append(seen, s)
	}
	if r.err == nil {
		r.err = r.notes()
	}
	if r.err == nil && len(seen) > 0 {
		r.err = r.printer.events(seen)
	}
}

// interruptible is a reader that gives up waiting when its context ends.
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
		data := make([]byte, size) // b is the caller's again once it has given up
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
