package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/pleg"
)

// checkOptions are what `podctl pleg check` was asked for.
type checkOptions struct {
	globals
	samples   int
	threshold time.Duration
	brief     bool
}

const (
	// checkTimeout is how long a check waits for an answer, if --timeout does
	// not say: less than most who run checks give them.
	checkTimeout = 10 * time.Second
	// samplePeriod is the time between two relists of a check.
	samplePeriod = 100 * time.Millisecond
	// checkLook is how often a check looks whether it is done.
	checkLook = 20 * time.Millisecond
)

func plegCheckCommand(e *env) *cli.Command {
	return &cli.Command{
		Name:  "check",
		Usage: "say whether the runtime lists its pods and tells their statuses, how fast, and what hangs",
		Description: "It lists all pods a number of times and reads the status of each once. It never waits\n" +
			"longer than --timeout (here " + checkTimeout.String() + " by default) for one answer: what hangs then is named.\n" +
			"The exit code is 0 if the runtime is healthy, 1 if it is not, 3 if it cannot be reached.",
		Flags: []cli.Flag{
			&cli.IntFlag{Name: "samples", Value: 10, DefaultText: "10", Usage: "list all pods at least `N` times"},
			&cli.DurationFlag{Name: "threshold", Value: 3 * time.Minute, DefaultText: "3m, the kubelet's", Usage: "a relist or call is unhealthy from this `TIME` on"},
			&cli.BoolFlag{Name: "brief", Usage: "print one line, for node-problem-detector and the like"},
		},
		Action: func(c *cli.Context) error {
			o := checkOptions{globals: readGlobals(c), samples: c.Int("samples"), threshold: c.Duration("threshold"), brief: c.Bool("brief")}
			switch {
			case c.NArg() > 0:
				return usagef("check takes no arguments")
			case o.output != "" && o.output != "json":
				return usagef("--output %q: check prints text, or json", o.output)
			case o.output != "" && o.brief:
				return usagef("--brief and --output exclude each other")
			case o.samples < 1:
				return usagef("--samples %d is less than 1", o.samples)
			case o.threshold <= 0:
				return usagef("--threshold %s is not positive", o.threshold)
			}
			if o.timeout == 0 {
				o.timeout = checkTimeout
			}
			return runCheck(c.Context, e, o)
		},
	}
}

// runCheck prints a report. Its error has been said: it is the exit code.
func runCheck(ctx context.Context, e *env, o checkOptions) error {
	ctx, interrupted := e.untilInterrupt(ctx)
	report, err := examine(ctx, e, o)
	if interrupted() {
		return errInterrupted
	}
	switch {
	case err != nil && !o.brief && o.output == "":
		return err
	case err != nil:
		report = newCheckReport()
		report.Status, report.Reason = statusUnreachable, err.Error()
	case report.Status != statusHealthy:
		err = errors.New(report.Reason)
	}
	if printErr := report.print(e.out, o); printErr != nil {
		return printErr
	}
	if err != nil {
		return &saidError{err}
	}
	return nil
}

// examine watches the runtime until it knows enough, or has waited enough. An
// error means that the runtime cannot be reached.
func examine(ctx context.Context, e *env, o checkOptions) (checkReport, error) {
	c := &checking{opts: o, now: e.now, began: e.now(), meter: newPLEGMeter(e.now), calls: cri.NewTimedCalls(e.now)}
	connecting, cancel := context.WithTimeout(ctx, o.timeout)
	defer cancel()
	session, err := openPLEG(connecting, e, o.globals, plegOptions{
		source: sourceAuto, period: samplePeriod, threshold: o.threshold,
		// The check gives up before anything else does, so that what hangs is
		// still there to be seen.
		timeout: 2 * o.timeout, callDeadline: 2 * o.timeout,
		observer: c.meter, calls: c.calls,
		wrap: func(rt pleg.Runtime) pleg.Runtime {
			c.reads = &statusReads{Runtime: rt, now: e.now}
			return c.reads
		},
	})
	switch {
	case errors.Is(err, cri.ErrDeadline) && !errors.Is(err, cri.ErrNotCRI):
		// Somebody is there, and does not answer.
		r := newCheckReport()
		r.Status, r.Reason = statusUnhealthy, err.Error()
		return r, nil
	case err != nil:
		return checkReport{}, err
	}
	defer session.Close()
	c.session = session
	session.start(ctx)
	c.wait(ctx)
	if err := c.meter.failure(); errors.Is(err, cri.ErrUnavailable) {
		return checkReport{}, err
	}
	return c.report(), nil
}

// checking is a check under way.
type checking struct {
	opts    checkOptions
	now     func() time.Time
	began   time.Time
	session *plegSession
	meter   *plegMeter
	calls   *cri.Calls
	reads   *statusReads
	done    bool // all that was to be asked has been answered
}

// wait returns when all has been answered, or something has not for too long,
// or it has taken too long altogether.
func (c *checking) wait(ctx context.Context) {
	end := time.Duration(c.opts.samples)*samplePeriod + c.opts.timeout
	look := time.NewTicker(checkLook)
	defer look.Stop()
	for {
		if c.done = c.answered(); c.done || c.meter.failure() != nil || c.now().Sub(c.began) >= end {
			return
		}
		if in := c.session.Health().InFlight; len(in) > 0 && c.now().Sub(in[0].Since) >= min(c.opts.timeout, c.opts.threshold) {
			return
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return
		}
	}
}

// answered tells whether there are enough samples, each pod's status has been
// read, and it is known whether there are hints.
func (c *checking) answered() bool {
	n, hintsKnown := c.meter.state()
	if n < c.opts.samples || !hintsKnown {
		return false
	}
	for _, p := range c.session.Pods() {
		if !c.reads.has(p.UID) {
			return false
		}
	}
	return true
}

// report says what the check has found.
func (c *checking) report() checkReport {
	pods := c.session.Pods()
	endpoint := c.session.client.Endpoint()
	r := newCheckReport()
	r.Runtime, r.Endpoint, r.PID = c.session.version.String(), endpoint.Runtime, serverPID(endpoint)
	r.Seconds, r.ThresholdSeconds = c.now().Sub(c.began).Seconds(), c.opts.threshold.Seconds()
	r.Slowest = append(r.Slowest, c.reads.slowest(pods, c.calls, slowestShown)...)
	r.Errors = append(r.Errors, c.reads.errors(pods)...)
	r.Pods = len(pods)
	for _, p := range pods {
		r.Containers += len(p.Containers)
	}
	for _, call := range c.session.Health().InFlight {
		if age := c.now().Sub(call.Since); age >= time.Second || !c.done && age >= c.opts.timeout {
			r.Waits = append(r.Waits, newCheckWait(waitsFor(c.calls, call, pods), age))
		}
	}
	c.meter.fill(&r)
	if !c.done {
		r.Unfinished = fmt.Sprintf("%d of %s, statuses of %d of %s",
			min(r.Samples, c.opts.samples), plural(c.opts.samples, "relist"), c.reads.count(pods), plural(len(pods), "pod"))
	}
	r.Status, r.Reason = r.verdict(c.meter.failure())
	return r
}
