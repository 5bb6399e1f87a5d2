package pleg

import (
	"context"
	"errors"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/pleg"
	"github.com/podctl/podctl/internal/pleg/plegstat"
	"github.com/podctl/podctl/internal/sys/hint"
)

// compareOptions are the options of `podctl pleg compare`.
type compareOptions struct {
	shell.Globals
	format output.Format
	filter plegstat.Filter
	last   time.Duration // duration of the comparison; 0: until an interrupt
	period time.Duration
}

func compareCommand(e *shell.Env) *cmdline.Command {
	return &cmdline.Command{
		Name:   "compare",
		Usage:  "compare a PLEG that relists with one that uses the runtime's events: which is first, and what each misses",
		Effect: cmdline.Reads,
		Data:   []any{CompareLine{}, plegstat.CompareSummary{}},
		Description: "Run two PLEGs side by side: one relists every second as the kubelet does, the other\n" +
			"uses the runtime's events. EVENTS and RELISTS show how long after a change each\n" +
			"reported it, if the runtime records the time of the change. Relists miss changes that\n" +
			"end between two relists; events miss changes that the runtime does not report.\n" +
			"Ctrl-C stops early and prints the summary. The runtime must deliver its events to\n" +
			"every subscriber.\n" +
			"-o is " + output.StreamFormats + ".",
		Flags: append([]cli.Flag{
			&cli.DurationFlag{Name: "for", Value: time.Minute, DefaultText: "1m", Usage: "`DURATION` of the comparison; 0: until Ctrl-C"},
			relistPeriodFlag(),
			shell.NoHeadersFlag(),
		}, filterFlags()...),
		Action: func(c *cli.Context) error {
			o := compareOptions{Globals: shell.ReadGlobals(c), last: c.Duration("for"), period: c.Duration("relist-period")}
			var err error
			if o.filter, err = readFilter(c); err != nil {
				return err
			}
			if o.format, err = shell.ReadOutput(c); err != nil {
				return err
			}
			switch {
			case o.last < 0:
				return shell.Usagef("--for %s is negative", o.last)
			case o.period <= 0:
				return shell.Usagef("--relist-period %s is not positive", o.period)
			}
			return runCompare(c.Context, e, o)
		},
	}
}

// nothingToCompare returns the error for a runtime of which podctl cannot use the events.
func nothingToCompare(cause error) error {
	advice := "podctl pleg watch works with this runtime, by relists"
	_, unshared := errors.AsType[*unsharedError](cause)
	if first := hint.Of(cause); first != "" && !unshared {
		advice = first + "\n" + advice
	}
	return hint.Errorf(advice, "nothing to compare relists with: %w", cause)
}

// minAllowance is how long a side may at least lag behind the other before it
// has missed an event.
const minAllowance = 5 * time.Second

// compareSession is one run of `podctl pleg compare`.
type compareSession struct {
	*plegstat.Comparison
	env     *shell.Env
	opts    compareOptions
	meter   *plegstat.Meter // of the side with hints
	printer comparePrinter
	sides   [2]*pleg.Subscription
	began   time.Time
	// header is printed: it is known that there is something to compare.
	header bool
}

// runCompare compares until the time is up or it is interrupted.
func runCompare(ctx context.Context, e *shell.Env, o compareOptions) error {
	c := &compareSession{env: e, opts: o, meter: plegstat.NewMeter(e.Now), printer: newComparePrinter(e, o), began: e.Now()}
	// Both sides share one connection, so that both have the same latency.
	session, err := openUntilInterrupt(ctx, e, o.Globals, sessionOptions{source: sourceEvents, observer: c.meter})
	if unshared, ok := errors.AsType[*unsharedError](err); ok {
		return nothingToCompare(unshared)
	}
	if err != nil {
		return err
	}
	defer session.Close()
	relisting := pleg.New(politeRuntime{session.client, sourceRelist}, pleg.Options{Period: o.period, Log: e.Log, Now: e.Now})
	c.Comparison = plegstat.NewComparison(max(3*o.period, minAllowance))
	c.sides = [2]*pleg.Subscription{plegstat.ByHints: session.Subscribe(), plegstat.ByRelists: relisting.Subscribe()}

	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	defer func() { cancel(); <-ended }()
	go func() {
		defer close(ended)
		_ = relisting.Run(ctx) // fails only if it runs already
	}()
	session.start(ctx)
	return c.run()
}

func (c *compareSession) run() error {
	var timeout <-chan time.Time
	if c.opts.last > 0 {
		timer := time.NewTimer(c.opts.last)
		defer timer.Stop()
		timeout = timer.C
	}
	poll := time.NewTicker(time.Second)
	defer poll.Stop()
	for {
		select {
		case <-c.sides[plegstat.ByHints].Ready():
		case <-c.sides[plegstat.ByRelists].Ready():
		case <-c.meter.Ready():
		case <-poll.C:
		case <-timeout:
			return c.end()
		case <-c.env.Interrupts:
			return c.end()
		}
		if err := c.drain(); err != nil {
			return err
		}
	}
}

func (c *compareSession) end() error {
	if err := c.drain(); err != nil {
		return err
	}
	now := c.env.Now()
	return c.printer.summary(now, c.Summary(now.Sub(c.began), c.meter.Gaps()))
}

// drain prints what has been decided since the last call.
func (c *compareSession) drain() error {
	now := c.env.Now()
	for _, n := range c.meter.Take() {
		if n.Kind == plegstat.NoHints {
			return nothingToCompare(n.Err)
		}
		if err := c.printer.note(n.At, noteText(n)); err != nil {
			return err
		}
	}
	if hints, _ := c.meter.Hints(); hints != plegstat.HintsUnknown && !c.header {
		c.header = true
		if err := c.printer.begin(); err != nil {
			return err
		}
	}
	var decided []*plegstat.Transition
	for _, by := range plegstat.Sides {
		for _, ev := range c.sides[by].Take() {
			if !c.opts.filter.Matches(ev) {
				continue
			}
			if t := c.Add(by, plegstat.Event{Event: ev, Received: now}); t != nil {
				decided = append(decided, t)
			}
		}
	}
	return c.printer.transitions(now, append(decided, c.Overdue(now)...))
}
