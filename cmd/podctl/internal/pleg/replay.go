package pleg

import (
	"context"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/lab/tape"
	"github.com/podctl/podctl/internal/pleg"
	"github.com/podctl/podctl/internal/pleg/plegstat"
)

// replayOf is `podctl pleg watch` of a recording.
func replayOf(c *cli.Context, e *shell.Env, o watchOptions) error {
	for _, flag := range []string{"count", "for", "source", "relist-period"} {
		if c.IsSet(flag) {
			return shell.Usagef("--%s is for a runtime, and cannot be combined with a recording", flag)
		}
	}
	return e.UntilInterrupted(c.Context, func(ctx context.Context) error { return replay(ctx, e, o, c.Bool("realtime")) })
}

// replay prints the events that the PLEG finds in a recording.
func replay(ctx context.Context, e *shell.Env, o watchOptions, realtime bool) error {
	r := &replaySession{env: e, opts: o, realtime: realtime, printer: newWatchPrinter(e, o), began: e.Now()}
	recorded := e.Tape.Tape()
	r.start = recorded.Header.Start.Local()
	r.clock = r.start
	r.meter = plegstat.NewMeter(func() time.Time { return r.clock })
	return r.run(ctx, recorded.Header)
}

// replaySession is one replay of a recording.
type replaySession struct {
	env      *shell.Env
	opts     watchOptions
	realtime bool
	printer  watchPrinter
	meter    *plegstat.Meter
	stats    plegstat.WatchStats
	// began is when the replay began, start when the recording began, and clock
	// the time of the recording that the replay has reached.
	began, start, clock time.Time
	// err is the error of the output.
	err error
}

func (r *replaySession) run(ctx context.Context, h tape.Header) error {
	if err := r.printer.begin(nil); err != nil {
		return err
	}
	if err := r.printer.note(r.start, fmt.Sprintf("recorded %s by podctl %s on %s", r.start.Format("2006-01-02 15:04:05 MST"), h.Podctl, h.Runtime)); err != nil {
		return err
	}
	unhinted, err := tape.Play(ctx, r.env.Tape, tape.PlayOptions{Events: r.events, Wait: r.wait, Observer: r.meter, Log: r.env.Log})
	if r.err != nil {
		return r.err
	}
	if err != nil {
		return err
	}
	r.clock = r.env.Tape.Tape().End().Local()
	if err := r.notes(); err != nil {
		return err
	}
	return r.printer.summary(r.clock, r.stats.Summary(r.clock.Sub(r.start), r.meter, unhinted))
}

// wait advances the clock, and with --realtime waits for it.
func (r *replaySession) wait(ctx context.Context, until time.Time) error {
	if r.err = r.notes(); r.err != nil {
		return r.err
	}
	r.clock = until.Local()
	if !r.realtime {
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
