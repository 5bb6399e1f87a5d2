package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/internal/pleg"
)

// compareOptions are what `podctl pleg compare` was asked for.
type compareOptions struct {
	globals
	filter eventFilter
	last   time.Duration // how long to compare, 0 is until an interrupt
	period time.Duration
}

func plegCompareCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:  "compare",
		Usage: "find the same changes by relists alone and by the runtime's events, and show who was first",
		Description: "A PLEG that relists every second as the kubelet's does, and one that lives on the\n" +
			"events of the runtime, run side by side. EVENTS and RELISTS are how long after it\n" +
			"happened each of them knew, where the runtime says when. Relists miss what is over\n" +
			"before they look; events miss what the runtime does not tell. Ctrl-C ends it early,\n" +
			"with the summary. It needs a runtime whose events are for every subscriber.",
		Flags: append([]cli.Flag{
			&cli.DurationFlag{Name: "for", Value: time.Minute, DefaultText: "1m", Usage: "compare for this `TIME`; 0 is until Ctrl-C"},
			&cli.DurationFlag{Name: "relist-period", Value: time.Second, DefaultText: "1s, the kubelet's", Usage: "`TIME` between two relists"},
		}, filterFlags()...),
		Action: func(c *cli.Context) error {
			o := compareOptions{globals: readGlobals(c), last: c.Duration("for"), period: c.Duration("relist-period")}
			var err error
			if o.filter, err = newEventFilter(c.String("namespace"), c.StringSlice("pod"), c.StringSlice("type"), ""); err != nil {
				return err
			}
			switch {
			case c.NArg() > 0:
				return usagef("compare takes no arguments")
			case o.output != "" && o.output != "json":
				return usagef("--output %q: compare prints text, or json", o.output)
			case o.last < 0:
				return usagef("--for %s is negative", o.last)
			case o.period <= 0:
				return usagef("--relist-period %s is not positive", o.period)
			}
			return runCompare(c.Context, e, o)
		},
	}
}

// nothingToCompareError: the runtime's events are not there, or not for us.
type nothingToCompareError struct{ cause error }

func (e *nothingToCompareError) Error() string {
	return fmt.Sprintf("nothing to compare relists with: %v", e.cause)
}
func (e *nothingToCompareError) Unwrap() error { return e.cause }
func (e *nothingToCompareError) Hint() string {
	hint := "podctl pleg watch works there, by relists"
	_, unshared := errors.AsType[*unsharedError](e.cause)
	var hinted interface{ Hint() string }
	if !unshared && errors.As(e.cause, &hinted) && hinted.Hint() != "" {
		return hinted.Hint() + "\n" + hint
	}
	return hint
}

// runCompare compares until the time is up or it is interrupted.
func runCompare(ctx context.Context, e *env, o compareOptions) error {
	c := &comparing{env: e, opts: o, meter: newPLEGMeter(e.now), printer: newComparePrinter(e, o.globals), began: e.now()}
	// Both have one connection, so that neither is nearer to the runtime.
	session, err := beginPLEG(ctx, e, o.globals, plegOptions{source: sourceEvents, observer: c.meter})
	if unshared, ok := errors.AsType[*unsharedError](err); ok {
		return &nothingToCompareError{unshared}
	}
	if err != nil {
		return err
	}
	defer session.Close()
	relisting := pleg.New(politeRuntime{session.client, sourceRelist}, pleg.Options{Period: o.period, Log: e.log, Now: e.now})
	c.comparison = newComparison(max(3*o.period, minPatience))
	c.told = [2]*pleg.Subscription{byHints: session.Subscribe(), byRelists: relisting.Subscribe()}

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
