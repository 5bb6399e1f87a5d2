package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/internal/daemon"
	"github.com/podctl/podctl/internal/owner"
)

// agentName is the instance of an agent: there is one for each runtime.
const agentName = "agent"

// agentOptions are what `podctl agent` was asked for.
type agentOptions struct {
	globals
	driving
	// manifests are the sources that are followed, configFrom those of which
	// only ConfigMaps, Secrets and claims are taken.
	manifests, configFrom []string
	// replicas and strict are as in reading.
	replicas int
	strict   bool
	// fileCheck and httpCheck are how often sources are read unasked.
	fileCheck, httpCheck time.Duration
	// drain: pods are ended within drainTimeout when the agent ends.
	drain        bool
	drainTimeout time.Duration
	house        daemon.Housekeeping
	// killUnknown: pods of the runtime that have no owner are terminated.
	killUnknown bool
	// observe: nothing is run; what others run is watched.
	observe bool
}

func agentCommand(e *env) *cli.Command {
	flags := []cli.Flag{
		&cli.StringSliceFlag{Name: "manifests", Usage: "follow the pods of this `DIR|FILE|URL`; may be repeated"},
		&cli.StringSliceFlag{Name: "config-from", Usage: "follow the ConfigMaps, Secrets and claims of this `DIR|FILE|URL`, and nothing else of it; may be repeated"},
		replicasFlag(),
		&cli.BoolFlag{Name: "strict", Usage: "take warnings about a manifest for errors: it is not followed"},
		&cli.DurationFlag{Name: "file-check-frequency", Value: 20 * time.Second, Usage: "read directories that often, `TIME`, though nothing told of a change"},
		&cli.DurationFlag{Name: "http-check-frequency", Value: 20 * time.Second, Usage: "ask URLs that often, `TIME`"},
		&cli.BoolFlag{Name: "observe", Usage: "run nothing; print the events of the runtime's pods, and serve metrics and health at --listen"},
		&cli.BoolFlag{Name: "drain", Usage: "end the pods on exit, critical ones last"},
		&cli.DurationFlag{Name: "drain-timeout", Value: time.Minute, Usage: "leave pods behind that have not ended after this `TIME`"},
	}
	return &cli.Command{
		Name:  "agent",
		Usage: "run the pods of a directory, as a service",
		Description: "A changed manifest replaces its pod, a removed one ends it, an invalid one is\n" +
			"reported and leaves the running pod alone. Nothing ends because it could not be read.\n" +
			"An agent that is started again adopts the pods that run. SIGTERM leaves them running\n" +
			"unless there is --drain. There is one agent for each runtime.",
		Flags: append(append(flags, housekeepingFlags()...), drivingFlags()...),
		Action: func(c *cli.Context) error {
			o := agentOptions{
				globals: readGlobals(c), manifests: c.StringSlice("manifests"), configFrom: c.StringSlice("config-from"),
				replicas: c.Int("replicas"), strict: c.Bool("strict"),
				fileCheck: c.Duration("file-check-frequency"), httpCheck: c.Duration("http-check-frequency"),
				observe: c.Bool("observe"), killUnknown: c.String("adopt-runtime") == "kill", drain: c.Bool("drain"), drainTimeout: c.Duration("drain-timeout"),
			}
			var err error
			if o.driving, err = readDriving(c); err != nil {
				return err
			}
			if o.house, err = readHousekeeping(c); err != nil {
				return err
			}
			if err := o.check(c.Args().Slice()); err != nil {
				return err
			}
			if o.observe {
				return runObserve(c.Context, e, o)
			}
			return runAgent(c.Context, e, o)
		},
	}
}

// sources are all that is followed.
func (o agentOptions) sources() []string { return slices.Concat(o.manifests, o.configFrom) }

func (o agentOptions) check(args []string) error {
	switch {
	case len(args) > 0:
		return &usageError{message: "agent takes no arguments", hint: "podctl agent --manifests " + args[0]}
	case o.observe && len(o.sources()) > 0:
		return &usageError{message: "--observe runs nothing, and so follows nothing", hint: "leave out --manifests and --config-from, or --observe"}
	case len(o.manifests) == 0 && !o.observe:
		return &usageError{message: "no manifests given", hint: "podctl agent --manifests DIR"}
	case o.replicas < 1:
		return usagef("--replicas %d is less than one", o.replicas)
	case o.fileCheck <= 0:
		return usagef("--file-check-frequency %s is not positive", o.fileCheck)
	case o.httpCheck <= 0:
		return usagef("--http-check-frequency %s is not positive", o.httpCheck)
	case o.drainTimeout <= 0:
		return usagef("--drain-timeout %s is not positive", o.drainTimeout)
	case o.output != "" && o.output != "json":
		return usagef("--output %q: agent prints text, or json", o.output)
	}
	seen := map[string]bool{}
	for _, m := range o.sources() {
		if seen[m] {
			return usagef("%q is given twice", m)
		}
		if m == "-" {
			return &usageError{message: "-: an agent cannot follow its standard input", hint: "podctl run -"}
		}
		seen[m] = true
	}
	return nil
}

// runAgent follows the sources until it is told to end.
func runAgent(ctx context.Context, e *env, o agentOptions) error {
	settle()
	a, err := prepareAgent(ctx, e, o)
	if err != nil {
		return err
	}
	err = a.run(ctx)
	if closeErr := a.session.Close(); err == nil {
		err = closeErr
	}
	return err
}

// prepareAgent does all that comes before the first source is read. An
// interrupt ends it.
func prepareAgent(ctx context.Context, e *env, o agentOptions) (a *agent, err error) {
	ctx, interrupted := e.untilInterrupt(ctx)
	defer func() {
		if !interrupted() {
			return
		}
		err = errInterrupted
		if a != nil {
			err = errors.Join(err, a.session.Close())
		}
	}()
	events := newQueue()
	s, err := daemon.Open(ctx, o.driving.options(e, o.globals, daemon.Options{
		Instance: agentName, Sources: o.sources(), KillUnknown: o.killUnknown, Events: events.put,
	}))
	if held, ok := errors.AsType[*owner.HeldError](err); ok {
		return nil, &secondAgentError{held: held}
	}
	if err != nil {
		return nil, err
	}
	a = &agent{env: e, opts: o, session: s, events: events, updates: make(chan sourceUpdate)}
	a.printer = newAgentPrinter(e, o, lastWords(s))
	return a, nil
}

// secondAgentError: there is an agent on this runtime already.
type secondAgentError struct {
	held *owner.HeldError
}

func (e *secondAgentError) Error() string {
	process := ""
	if e.held.PID != 0 {
		process = fmt.Sprintf(" (pid %d)", e.held.PID)
	}
	return "an agent" + process + " has this runtime already"
}

func (e *secondAgentError) Unwrap() error { return e.held }

func (*secondAgentError) Hint() string {
	return "give that one more --manifests, end it, or use another runtime with -r"
}
