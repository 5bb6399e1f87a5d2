package main

import (
	"slices"
	"time"

	"github.com/urfave/cli/v2"
)

// watchOptions are what `podctl pleg watch` was asked for.
type watchOptions struct {
	globals
	filter  eventFilter
	source  plegSource
	period  time.Duration
	count   int           // 0 is no limit
	last    time.Duration // how long to watch, 0 is until an interrupt
	initial bool
}

func plegWatchCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:  "watch",
		Usage: "print what happens to pods as it is found out, and how late",
		Description: "Ctrl-C ends it with a summary, and exit code 0. A line has the time at which podctl\n" +
			"knew, what made it look (its own relist, or a hint of the runtime), and how long after\n" +
			"it happened that was, where the runtime says when it did.\n" +
			"It may run beside a kubelet: where a second subscriber would take events from the\n" +
			"first (containerd before 2.0), it does not subscribe and says so.",
		Flags: slices.Concat(filterFlags(), []cli.Flag{
			&cli.StringFlag{Name: "selector", Aliases: []string{"l"}, Usage: "only pods whose sandbox has these `LABELS`: app=web,tier!=cache"},
			&cli.IntFlag{Name: "count", DefaultText: "no limit", Usage: "end after `N` events"},
			&cli.DurationFlag{Name: "for", DefaultText: "until Ctrl-C", Usage: "end after this `TIME`; with --count, which is not reached then, the exit code is 1"},
			&cli.BoolFlag{Name: "initial", Usage: "first print what is there, as events"},
		}, sourceFlags()),
		Action: func(c *cli.Context) error {
			o := watchOptions{
				globals: readGlobals(c), count: c.Int("count"), last: c.Duration("for"), initial: c.Bool("initial"),
			}
			var err error
			if o.filter, err = newEventFilter(c.String("namespace"), c.StringSlice("pod"), c.StringSlice("type"), c.String("selector")); err != nil {
				return err
			}
			if o.source, o.period, err = readSource(c); err != nil {
				return err
			}
			switch {
			case c.NArg() > 0:
				return &usageError{message: "watch takes no arguments", hint: "podctl pleg watch --pod " + c.Args().First()}
			case o.output != "" && o.output != "json":
				return usagef("--output %q: watch prints text, or json", o.output)
			case o.count < 0:
				return usagef("--count %d is negative", o.count)
			case o.last < 0:
				return usagef("--for %s is negative", o.last)
			}
			return runWatch(c.Context, e, o)
		},
	}
}
