package look

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/cri/logs"
	"github.com/podctl/podctl/internal/pods/podlogs"
	"github.com/podctl/podctl/internal/pods/target"
)

// logsOptions are the options of `podctl logs`.
type logsOptions struct {
	shell.Globals
	query target.Query
	lines logs.Options
	// limit is how many bytes of each container are printed, negative for all.
	limit      int64
	timestamps bool
	prefix     prefixed
}

// prefixed is whether lines begin with the name of their container.
type prefixed uint8

const (
	// byTargets: those of several containers do on a terminal.
	byTargets prefixed = iota
	always
	never
)

// selectorTail is the default of --tail with --selector, as kubectl's.
const selectorTail = 10

// logsCommand returns `podctl logs`.
func logsCommand(e *shell.Env) *cmdline.Command {
	return &cmdline.Command{
		Name:      "logs",
		Usage:     "print what containers wrote, rotated files included; several merged by time",
		Args:      cmdline.Args{Of: cmdline.Target, Many: true, Patterns: true},
		Effect:    cmdline.Reads,
		Aliases:   []string{"log"},
		FlagHints: map[string]string{"all-pods": "podctl logs -l LABELS prints those of all pods with the labels"},
		Description: "Works on every pod of the runtime, exited containers included. With -f, prints what is written\n" +
			"until the containers exit and are not started again: restarts of a container, rotations of its\n" +
			"log, a new pod of the same name and new pods with the labels are followed. Ctrl-C ends it with exit\n" +
			"code 0.\n" +
			"On a terminal, control characters of a container have no effect, colors excepted, and the lines\n" +
			"of several containers are prefixed; a pipe or file gets the bytes unchanged.",
		Flags: slices.Concat(targetFlags(bySelector|byContainer|byAttempt|byAllContainers), []cli.Flag{
			&cli.BoolFlag{Name: "follow", Aliases: []string{"f"}, Usage: "print what is written from now on, too"},
			&cli.Int64Flag{Name: "tail", DefaultText: "-1: all; 10 with --selector", Usage: "print this `NUMBER` of the last lines of each container"},
			&cli.DurationFlag{Name: "since", DefaultText: "all", Usage: "print lines of this last `DURATION`: 5s, 2m, 3h"},
			&cli.StringFlag{Name: "since-time", DefaultText: "all", Usage: "print lines since this `TIME`: 2026-01-02T15:04:05Z"},
			&cli.Int64Flag{Name: "limit-bytes", DefaultText: "no limit", Usage: "print at most this `NUMBER` of bytes of each container"},
			&cli.BoolFlag{Name: "timestamps", Aliases: []string{"t"}, Usage: "print the time of each line"},
			&cli.StringFlag{Name: "stream", Value: "all", Usage: "print this `STREAM` only: stdout, stderr or all"},
			&cli.BoolFlag{Name: "prefix", DefaultText: "of several containers on a terminal", Usage: "begin each line with NAMESPACE/POD/CONTAINER"},
		}),
		Action: func(c *cli.Context) error {
			o, err := readLogsOptions(c, e.Now())
			if err != nil {
				return err
			}
			return runLogs(c.Context, e, o)
		},
	}
}

func readLogsOptions(c *cli.Context, now time.Time) (logsOptions, error) {
	o := logsOptions{
		Globals: shell.ReadGlobals(c), limit: -1,
		timestamps: c.Bool("timestamps"), lines: logs.Options{Tail: -1, Follow: c.Bool("follow")},
	}
	if c.IsSet("prefix") {
		o.prefix = map[bool]prefixed{true: always, false: never}[c.Bool("prefix")]
	}
	var err error
	if o.query, err = needTarget(c, c.Args().Slice()); err != nil {
		return o, err
	}
	switch {
	case c.IsSet("tail"):
		o.lines.Tail = c.Int64("tail")
	case o.query.Selector != nil:
		o.lines.Tail = selectorTail
	}
	if o.lines.Tail < -1 {
		return o, shell.Usagef("--tail %d: want -1 for all lines, or a number of lines", o.lines.Tail)
	}
	if c.IsSet("limit-bytes") {
		if o.limit = c.Int64("limit-bytes"); o.limit < 1 {
			return o, shell.Usagef("--limit-bytes %d is not positive", o.limit)
		}
	}
	switch stream := c.String("stream"); stream {
	case "all", "All":
	case "stdout", "Stdout":
		o.lines.Omit[logs.Stderr] = true
	case "stderr", "Stderr":
		o.lines.Omit[logs.Stdout] = true
	default:
		return o, shell.Usagef("--stream %q: want stdout, stderr or all", stream)
	}
	o.lines.Since, err = readSince(c, now)
	return o, err
}

// readSince reads --since and --since-time; the zero time is neither.
func readSince(c *cli.Context, now time.Time) (time.Time, error) {
	text := c.String("since-time")
	switch {
	case c.IsSet("since") && text != "":
		return time.Time{}, shell.Usagef("--since and --since-time exclude each other")
	case c.IsSet("since"):
		since := c.Duration("since")
		if since <= 0 {
			return time.Time{}, shell.Usagef("--since %s is not positive", since)
		}
		return now.Add(-since), nil
	case text != "":
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return time.Time{}, &shell.UsageError{Message: "--since-time " + text + " is not a time", Advice: "RFC 3339: 2026-01-02T15:04:05Z"}
		}
		return at, nil
	}
	return time.Time{}, nil
}

// outputTimeout is how long a run waits, once it is interrupted, for a reader of
// its output.
const outputTimeout = 300 * time.Millisecond

func runLogs(ctx context.Context, e *shell.Env, o logsOptions) error {
	err := e.UntilInterrupted(ctx, func(ctx context.Context) error {
		s, err := shell.ConnectSession(ctx, e, o.Globals)
		if err != nil {
			return err
		}
		defer s.Close()
		list := func(ctx context.Context) error { return s.ListFor(ctx, o.query) }
		if o.lines.Follow { // what is followed depends on the owners of pods
			shell.Settle()
			list = s.List
		}
		if err := list(ctx); err != nil {
			return err
		}
		p := newLogPrinter(e, o)
		r := &podlogs.Reader{
			Session: s, Query: o.query, Lines: o.lines, Now: e.Now, Source: p.source, Each: p.line, Idle: p.w.Flush,
			Found: func(found []target.Target) {
				for _, t := range found {
					if len(t.DefaultedFrom) > 0 {
						fmt.Fprintln(e.Errw, defaultNote(t))
					}
				}
				p.prefix = p.prefix || o.prefix == byTargets && len(found) > 1 && e.TTY
			},
			Warn: func(err error) { fmt.Fprintf(e.Errw, "warning: %v\n", err) },
		}
		return finish(ctx, outputTimeout, func() error { // nothing may read the output
			return errors.Join(r.Run(ctx), p.finish())
		})
	})
	if o.lines.Follow && errors.Is(err, shell.ErrInterrupted) {
		return nil // it is how following ends
	}
	return err
}
