package pleg

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/pleg"
	"github.com/podctl/podctl/internal/pleg/plegstat"
)

// watchOptions are the options of `podctl pleg watch`.
type watchOptions struct {
	shell.Globals
	filter  plegstat.Filter
	source  plegstat.EventSource
	count   int           // 0: no limit
	last    time.Duration // duration of the watch; 0: until an interrupt
	initial bool
	format  output.Format
}

func watchCommand(e *shell.Env) *cmdline.Command {
	return &cmdline.Command{
		Name:   "watch",
		Usage:  "print pod lifecycle events as the PLEG detects them, with their latency",
		Args:   cmdline.Args{Instead: func(pod string) string { return "podctl pleg watch --pod " + pod }},
		Effect: cmdline.Reads,
		Data:   []any{WatchLine{}, plegstat.WatchSummary{}},
		Description: "Ctrl-C prints a summary and exits with code 0. Each line shows when podctl detected the\n" +
			"event, its source (a relist or a hint of the runtime), and how long after the event that\n" +
			"was, if the runtime records when it happened.\n" +
			"It is safe beside a kubelet: with runtimes that deliver each event to one subscriber only\n" +
			"(containerd before 2.0) podctl does not subscribe, and says so.\n" +
			"-o is " + output.StreamFormats + ".",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "namespace", Aliases: []string{"n"}, Usage: "show only pods of this `NAMESPACE`"},
			&cli.StringSliceFlag{Name: "pod", Usage: "show only the pod `NAME`, or NAMESPACE/NAME; repeatable"},
			&cli.IntFlag{Name: "count", DefaultText: "no limit", Usage: "stop after `NUMBER` events"},
			&cli.DurationFlag{Name: "for", DefaultText: "until Ctrl-C", Usage: "stop after this `DURATION`; exit with code 1 if --count is not reached"},
			&cli.BoolFlag{Name: "initial", Usage: "first print the existing containers as events"},
			&cli.StringFlag{Name: "source", Value: string(plegstat.AutoSource), DefaultText: string(plegstat.AutoSource), Usage: "`SOURCE` of events: auto, or events to relist only where the runtime's events cannot be relied on"},
			shell.NoHeadersFlag(),
		},
		Action: func(c *cli.Context) error {
			o := watchOptions{
				Globals: shell.ReadGlobals(c), count: c.Int("count"), last: c.Duration("for"), initial: c.Bool("initial"),
				filter: plegstat.Filter{Namespace: c.String("namespace"), Pods: c.StringSlice("pod")}, source: plegstat.EventSource(c.String("source")),
			}
			var err error
			if o.format, err = shell.ReadOutput(c); err != nil {
				return err
			}
			switch {
			case o.source != plegstat.AutoSource && o.source != plegstat.HintSource:
				return shell.Usagef("--source %q is neither auto nor events", o.source)
			case o.count < 0:
				return shell.Usagef("--count %d is negative", o.count)
			case o.last < 0:
				return shell.Usagef("--for %s is negative", o.last)
			}
			return runWatch(c.Context, e, o)
		},
	}
}

// watchSession is one run of `podctl pleg watch`, or an observing agent.
type watchSession struct {
	env     *shell.Env
	opts    watchOptions
	session *plegstat.Session
	meter   *plegstat.Meter
	calls   *cri.Calls
	subject *pleg.Subscription
	printer watchPrinter
	// failed has the error of the output; nil for an observer, which goes on without.
	failed <-chan error
	stats  plegstat.WatchStats
	// seen is called for each event that is printed; nil for nothing.
	seen  func(plegstat.Event)
	began time.Time
	// listed: the first list has come, or something else is to be printed, and
	// the header is printed.
	listed bool
	// interrupted: a signal ended it, so that its output is not waited for.
	interrupted bool
	// turned is when the loop last turned, in Unix nanoseconds.
	turned atomic.Int64
	// waits are the calls in flight that have a line.
	waits []plegstat.CheckWait
}

const (
	// longWait is the age from which a call in flight gets a line.
	longWait = 5 * time.Second
	// inFlightPoll is how often calls in flight are examined; firstPoll until
	// the first list has come.
	inFlightPoll = time.Second
	firstPoll    = 50 * time.Millisecond
)

func newWatchSession(e *shell.Env, o watchOptions) *watchSession {
	return &watchSession{env: e, opts: o, meter: plegstat.NewMeter(e.Now), calls: cri.NewCalls(e.Now), printer: newWatchPrinter(e, o)}
}

// runWatch prints events until it is interrupted or has printed enough.
func runWatch(ctx context.Context, env *shell.Env, o watchOptions) error {
	u := env.Unblocked()
	defer u.Flush()
	e := u.Env
	w := newWatchSession(e, o)
	w.failed = u.Failed()
	disconnect := func() {}
	defer func() { disconnect() }()
	err := e.UntilInterrupted(ctx, func(ctx context.Context) (err error) {
		var client *cri.Client
		if client, disconnect, err = shell.ConnectWatched(ctx, e, o.Globals, w.calls, nil); err == nil {
			w.session, err = plegstat.Open(ctx, client, plegstat.SessionOptions{Source: o.source, Observer: w.meter, Log: e.Log, Now: e.Now})
		}
		return err
	})
	if err != nil {
		return err
	}
	defer w.session.Close()
	w.begin(ctx)
	if err := w.run(); err != nil || w.interrupted {
		return err
	}
	return u.Finish(ctx, func() error { return nil })
}

// begin starts the PLEG of the session.
func (w *watchSession) begin(ctx context.Context) {
	shell.Settle()
	w.subject, w.began = w.session.Subscribe(), w.env.Now()
	w.session.Start(ctx)
}

func (w *watchSession) run() error {
	var timeout <-chan time.Time
	if w.opts.last > 0 {
		timer := time.NewTimer(w.opts.last)
		defer timer.Stop()
		timeout = timer.C
	}
	poll := time.NewTicker(firstPoll)
	defer poll.Stop()
	for !w.full() {
		select {
		case <-w.subject.Ready():
		case <-w.meter.Ready():
		case err := <-w.failed:
			return err
		case <-poll.C:
			if w.listed {
				poll.Reset(inFlightPoll)
			}
		case <-timeout:
			if err := w.end(nil); err != nil || w.opts.count == 0 {
				return err
			}
			return fmt.Errorf("%d of %s in %s", w.stats.Events, output.Plural(w.opts.count, "event"), w.opts.last)
		case signal := <-w.env.Interrupts:
			w.interrupted = true
			return w.end(signal)
		}
		if err := w.drain(); err != nil {
			return err
		}
	}
	return w.end(nil)
}

// full reports whether --count is reached.
func (w *watchSession) full() bool { return w.opts.count > 0 && w.stats.Events >= w.opts.count }

// end prints the remaining events and the summary.
func (w *watchSession) end(signal os.Signal) error {
	if err := w.drain(); err != nil {
		return err
	}
	if signal == os.Interrupt && w.env.TTY && w.opts.format.IsTable() {
		// The terminal has echoed a ^C.
		if _, err := io.WriteString(w.env.Out, " "); err != nil {
			return err
		}
	}
	now := w.env.Now()
	return w.printer.summary(now, w.stats.Summary(now.Sub(w.began), w.meter, w.session.Unhinted()))
}

// stalled is how long the loop may be busy, for instance with output that nothing
// reads, before the process is not alive.
const stalled = time.Minute

// alive reports whether the loop turns. It does not depend on the runtime.
func (w *watchSession) alive() bool {
	turned := w.turned.Load()
	return turned == 0 || w.env.Now().Sub(time.Unix(0, turned)) < stalled
}

// drain prints what has come since the last call.
func (w *watchSession) drain() error {
	w.turned.Store(w.env.Now().UnixNano())
	notes, seen := w.meter.Take(), w.take()
	if !w.listed && (len(notes) > 0 || len(seen) > 0 || !w.session.Health().LastRelist.IsZero()) {
		w.listed = true
		if err := w.printer.begin(w.session.Pods()); err != nil {
			return err
		}
	}
	for _, n := range notes {
		if n.Kind == plegstat.NoHints && w.opts.source == plegstat.HintSource {
			return fmt.Errorf("--source events: %w", n.Err)
		}
		if err := w.printer.note(n.At, noteText(n)); err != nil {
			return err
		}
	}
	if len(seen) > 0 {
		if err := w.printer.events(seen); err != nil {
			return err
		}
	}
	return w.printWaits()
}

// take returns the events to print.
func (w *watchSession) take() []plegstat.Event {
	var seen []plegstat.Event
	now := w.env.Now()
	for _, ev := range w.subject.Take() {
		if w.full() {
			break
		}
		if ev.Initial && !w.opts.initial || !w.opts.filter.Matches(ev) {
			continue
		}
		s := plegstat.Event{Event: ev, Received: now}
		w.stats.Add(s)
		if w.seen != nil {
			w.seen(s)
		}
		seen = append(seen, s)
	}
	return seen
}

// printWaits prints once that a call hangs, and once that it has been answered.
func (w *watchSession) printWaits() error {
	now := w.env.Now()
	var hanging []plegstat.CheckWait
	for _, c := range w.session.Health().InFlight {
		if now.Sub(c.Since) >= longWait {
			hanging = append(hanging, plegstat.Explain(w.calls, c, w.session.Pods(), now))
		}
	}
	for _, old := range w.waits {
		if !slices.ContainsFunc(hanging, old.SameAs) {
			if err := w.printer.note(now, fmt.Sprintf("answered after %s: %s", output.Age(now.Sub(old.Since)), waitText(old, w.opts.NoTrunc))); err != nil {
				return err
			}
		}
	}
	for i, h := range hanging {
		if known := slices.IndexFunc(w.waits, h.SameAs); known >= 0 {
			hanging[i] = w.waits[known] // between two tries it is less specific
			continue
		}
		if err := w.printer.note(now, fmt.Sprintf("no answer for %s: %s", output.Age(now.Sub(h.Since)), waitText(h, w.opts.NoTrunc))); err != nil {
			return err
		}
	}
	w.waits = hanging
	return nil
}
