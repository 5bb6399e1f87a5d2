package pleg

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/pleg"
	"github.com/podctl/podctl/internal/pleg/plegstat"
	"github.com/podctl/podctl/internal/sys/hint"
)

// checkOptions are the options of `podctl pleg check`.
type checkOptions struct {
	shell.Globals
	format    output.Format
	samples   int
	threshold time.Duration
	brief     bool
}

const (
	// checkTimeout is the timeout of one call unless --timeout is set: shorter
	// than the timeouts with which monitoring runs checks.
	checkTimeout = 10 * time.Second
	// samplePeriod is the time between two relists of a check.
	samplePeriod = 100 * time.Millisecond
	// checkPoll is how often a check examines whether it is done.
	checkPoll = 20 * time.Millisecond
	// slowestShown is how many of the slowest pods a report names.
	slowestShown = 3
)

func checkCommand(e *shell.Env) *cmdline.Command {
	return &cmdline.Command{
		Name:   "check",
		Usage:  "check that the runtime lists pods and reports their status, measure how fast, and name calls that hang",
		Effect: cmdline.Reads,
		Data:   []any{plegstat.CheckReport{}, plegstat.CheckSlow{}, plegstat.CheckWait{}, plegstat.CheckError{}},
		Description: "List all pods several times and read the status of each pod once. No call may take\n" +
			"longer than --timeout (" + checkTimeout.String() + " by default); a call that does is named in the report.\n" +
			"The exit code is 0 if the runtime is healthy, 1 if it is unhealthy, 3 if it is unreachable.\n" +
			"-o is " + output.ReportFormats + ".",
		Flags: []cli.Flag{
			&cli.IntFlag{Name: "samples", Value: 10, DefaultText: "10", Usage: "`NUMBER` of lists of all pods, at least"},
			&cli.DurationFlag{Name: "threshold", Value: 3 * time.Minute, DefaultText: "3m", Usage: "`DURATION` from which a relist or call is unhealthy; the kubelet's is 3m"},
			&cli.BoolFlag{Name: "brief", Usage: "print one line, for node-problem-detector and similar tools"},
			shell.NoHeadersFlag(),
		},
		Action: func(c *cli.Context) error {
			o := checkOptions{Globals: shell.ReadGlobals(c), samples: c.Int("samples"), threshold: c.Duration("threshold"), brief: c.Bool("brief")}
			var err error
			if o.format, err = shell.ReadReportOutput(c); err != nil {
				return err
			}
			switch {
			case !o.format.IsTable() && o.brief:
				return shell.Usagef("--brief and --output exclude each other")
			case o.samples < 1:
				return shell.Usagef("--samples %d is less than 1", o.samples)
			case o.threshold <= 0:
				return shell.Usagef("--threshold %s is not positive", o.threshold)
			}
			if o.Timeout == 0 {
				o.Timeout = checkTimeout
			}
			return runCheck(c.Context, e, o)
		},
	}
}

// runCheck prints a report. Its error is already printed; it sets the exit code.
func runCheck(ctx context.Context, e *shell.Env, o checkOptions) error {
	ctx, interrupted := e.UntilInterrupt(ctx)
	report, err := examine(ctx, e, o)
	if interrupted() {
		return shell.ErrInterrupted
	}
	switch {
	case err != nil && !o.brief && o.format.IsTable():
		return err
	case err != nil:
		report = plegstat.NewCheckReport()
		report.Status, report.Reason = plegstat.Unreachable, err.Error()
	case report.Status != plegstat.Healthy:
		err = errors.New(report.Reason)
	}
	if printErr := printCheck(e.Out, report, o); printErr != nil {
		return printErr
	}
	if err != nil {
		return shell.Printed(err)
	}
	return nil
}

// examine checks the runtime until it knows enough, or has waited long enough.
// An error means that the runtime is unreachable.
func examine(ctx context.Context, e *shell.Env, o checkOptions) (plegstat.CheckReport, error) {
	c := &checkSession{opts: o, now: e.Now, began: e.Now(), meter: plegstat.NewMeter(e.Now), calls: cri.NewCalls(e.Now)}
	connecting, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	// The check gives up before any call does, so that a call that hangs is
	// still in flight when the report is made.
	o.Globals.Timeout = 2 * o.Timeout
	client, disconnect, err := shell.ConnectWatched(connecting, e, o.Globals, c.calls, nil)
	defer disconnect()
	if err == nil {
		c.session, err = plegstat.Open(connecting, client, plegstat.SessionOptions{
			Source: plegstat.AutoSource, Period: samplePeriod, Threshold: o.threshold, CallDeadline: 2 * o.Timeout,
			Observer: c.meter, Log: e.Log, Now: e.Now,
			Wrap: func(rt pleg.Runtime) pleg.Runtime {
				c.reads = &plegstat.StatusReads{Runtime: rt, Now: e.Now}
				return c.reads
			},
		})
	}
	switch {
	case errors.Is(err, cri.ErrDeadline):
		r := plegstat.NewCheckReport()
		r.Status, r.Reason, r.Hint = plegstat.Unhealthy, err.Error(), hint.Of(err)
		return r, nil
	case err != nil:
		return plegstat.CheckReport{}, err
	}
	defer c.session.Close()
	shell.Settle()
	c.session.Start(ctx)
	c.wait(ctx)
	if err := c.meter.Failure(); errors.Is(err, cri.ErrUnavailable) {
		return plegstat.CheckReport{}, err
	}
	return c.report(), nil
}

// checkSession is one run of `podctl pleg check`.
type checkSession struct {
	opts    checkOptions
	now     func() time.Time
	began   time.Time
	session *plegstat.Session
	meter   *plegstat.Meter
	calls   *cri.Calls
	reads   *plegstat.StatusReads
	done    bool // everything has been answered
}

// wait returns when everything has been answered, one call has been in flight
// for too long, or the check as a whole has taken too long.
func (c *checkSession) wait(ctx context.Context) {
	end := time.Duration(c.opts.samples)*samplePeriod + c.opts.Timeout
	poll := time.NewTicker(checkPoll)
	defer poll.Stop()
	for {
		if c.done = c.answered(); c.done || c.meter.Failure() != nil || c.now().Sub(c.began) >= end {
			return
		}
		if in := c.session.Health().InFlight; len(in) > 0 && c.now().Sub(in[0].Since) >= min(c.opts.Timeout, c.opts.threshold) {
			return
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			return
		}
	}
}

// answered reports whether there are enough samples, each pod's status has been
// read, and it is known whether there are hints.
func (c *checkSession) answered() bool {
	hints, _ := c.meter.Hints()
	if c.meter.Relists() < c.opts.samples || hints == plegstat.HintsUnknown {
		return false
	}
	pods := c.session.Pods()
	return c.reads.Count(pods) == len(pods)
}

func (c *checkSession) report() plegstat.CheckReport {
	pods := c.session.Pods()
	endpoint := c.session.Client.Endpoint()
	r := plegstat.NewCheckReport()
	r.Runtime, r.Endpoint = c.session.Version.String(), endpoint.Runtime
	server := cri.ServerOf(endpoint)
	r.PID = server.PID
	r.Seconds, r.ThresholdSeconds = c.now().Sub(c.began).Seconds(), c.opts.threshold.Seconds()
	r.Slowest = append(r.Slowest, c.reads.Slowest(pods, slowestShown)...)
	r.Errors = append(r.Errors, c.reads.Errors(pods)...)
	r.Pods = len(pods)
	for _, p := range pods {
		r.Containers += len(p.Containers)
	}
	for _, call := range c.session.Health().InFlight {
		if age := c.now().Sub(call.Since); age >= time.Second || !c.done && age >= c.opts.Timeout {
			r.Waits = append(r.Waits, plegstat.Explain(c.calls, call, pods, c.now()))
		}
	}
	r.Fill(c.meter)
	if !c.done {
		r.Unfinished = fmt.Sprintf("%d of %s, statuses of %d of %s",
			min(r.Samples, c.opts.samples), output.Plural(c.opts.samples, "relist"), c.reads.Count(pods), output.Plural(len(pods), "pod"))
	}
	if len(r.Waits) > 0 && server.LogsGoroutines() {
		r.Hint = fmt.Sprintf("kill -USR1 %d makes %s log its goroutines", server.PID, server.Comm)
	}
	r.Status = plegstat.Healthy
	if r.Reason = reasonText(r, c.meter.Failure()); r.Reason != "" {
		r.Status = plegstat.Unhealthy
	}
	return r
}
