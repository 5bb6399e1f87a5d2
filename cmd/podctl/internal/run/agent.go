package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/pleg"
	"github.com/podctl/podctl/cmd/podctl/internal/runview"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/desired/manifest"
	"github.com/podctl/podctl/internal/owners/owner"
	"github.com/podctl/podctl/internal/pod/event"
	"github.com/podctl/podctl/internal/serve/daemon"
	"github.com/podctl/podctl/internal/sys/hint"
)

// agentName is the instance name of an agent: there is one for each runtime.
const agentName = "agent"

// agentOptions are the options of `podctl agent`.
type agentOptions struct {
	shell.Globals
	format output.Format
	runtimeOptions
	// manifests are the sources that are followed; of configFrom no pods and
	// no workloads are read.
	manifests []string
	loadOptions
	// fileCheck and httpCheck are the periods in which sources are read again.
	fileCheck, httpCheck time.Duration
	// drain: pods are terminated within drainTimeout when the agent exits.
	drain        bool
	drainTimeout time.Duration
	house        daemon.Housekeeping
	// killUnknown: pods of the runtime that have no owner are terminated.
	killUnknown bool
	// observe: run nothing, watch what others run.
	observe bool
}

func agentCommand(e *shell.Env) *cmdline.Command {
	flags := []cli.Flag{
		&cli.StringSliceFlag{Name: "manifests", Usage: "run the pods of this `DIR|FILE|URL` and follow its changes; repeatable"},
		&cli.StringSliceFlag{Name: "config-from", Usage: "read only what is neither a pod nor a workload from this `DIR|FILE|URL` and follow its changes; repeatable"},
		replicasFlag(),
		serviceAccountFlag(),
		allFilesFlag(),
		skipUnknownFlag(),
		&cli.BoolFlag{Name: "strict", Usage: "treat warnings about a manifest as errors"},
		&cli.DurationFlag{Name: "file-check-frequency", Value: 20 * time.Second, Usage: "check directories every `DURATION`, in addition to change notifications"},
		&cli.DurationFlag{Name: "http-check-frequency", Value: 20 * time.Second, Usage: "check URLs every `DURATION`"},
		&cli.BoolFlag{Name: "observe", Usage: "run no pods; print pod lifecycle events of the runtime, and serve metrics and health at --listen"},
		&cli.BoolFlag{Name: "drain", Usage: "terminate the pods on exit, critical ones last"},
		&cli.DurationFlag{Name: "drain-timeout", Value: time.Minute, Usage: "with --drain, exit after this `DURATION` even if pods still run"},
	}
	return &cmdline.Command{
		Name:    "agent",
		Usage:   "run the pods of directories, files or URLs as a service",
		Args:    cmdline.Args{Instead: func(source string) string { return "podctl agent --manifests " + manifest.SourceName(source) }},
		Effect:  cmdline.ChangesUnless("observe"),
		OnNodes: cmdline.NotOnNodes,
		Data:    runData,
		Description: "A running pod follows its manifest in what the API server lets a running pod change; any\n" +
			"other change replaces it, and a removed manifest terminates it. An invalid manifest is\n" +
			"reported and leaves the running pod alone. A source that cannot be read terminates nothing.\n" +
			"A restarted agent adopts the running pods. SIGTERM leaves them running unless --drain is\n" +
			"given. A runtime has at most one agent.\n" +
			"-o is " + output.StreamFormats + ".",
		Flags: append(append(append(flags, shell.NoHeadersFlag()), housekeepingFlags()...), runtimeFlags()...),
		Action: func(c *cli.Context) error {
			o := agentOptions{
				Globals: shell.ReadGlobals(c), manifests: c.StringSlice("manifests"),
				fileCheck: c.Duration("file-check-frequency"), httpCheck: c.Duration("http-check-frequency"),
				observe: c.Bool("observe"), killUnknown: c.String("adopt-runtime") == "kill", drain: c.Bool("drain"), drainTimeout: c.Duration("drain-timeout"),
			}
			var err error
			if o.runtimeOptions, err = readRuntimeOptions(c); err != nil {
				return err
			}
			if o.loadOptions, err = readLoadOptions(c); err != nil {
				return err
			}
			if o.house, err = readHousekeeping(c); err != nil {
				return err
			}
			if o.format, err = shell.ReadOutput(c); err != nil {
				return err
			}
			if err := o.check(); err != nil {
				return err
			}
			u := e.Unblocked()
			defer u.Flush()
			e := u.Env
			if o.observe {
				return pleg.Observe(c.Context, e, pleg.ObserveOptions{Globals: o.Globals, Format: o.format, Listen: o.listen, Scan: o.house.Scan, Instance: agentName})
			}
			return runAgent(c.Context, e, o)
		},
	}
}

// sources are all sources that are followed.
func (o agentOptions) sources() []string { return slices.Concat(o.manifests, o.configFrom) }

func (o agentOptions) check() error {
	switch {
	case o.observe && len(o.sources()) > 0:
		return &shell.UsageError{Message: "--observe runs no pods and takes no manifests", Advice: "omit --manifests and --config-from, or --observe"}
	case len(o.manifests) == 0 && !o.observe:
		return &shell.UsageError{Message: "no manifests given", Advice: "podctl agent --manifests DIR"}
	case o.fileCheck <= 0:
		return shell.Usagef("--file-check-frequency %s is not positive", o.fileCheck)
	case o.httpCheck <= 0:
		return shell.Usagef("--http-check-frequency %s is not positive", o.httpCheck)
	case o.drainTimeout <= 0:
		return shell.Usagef("--drain-timeout %s is not positive", o.drainTimeout)
	}
	seen := map[string]bool{}
	for _, m := range o.sources() {
		if seen[m] {
			return shell.Usagef("%q is given twice", manifest.SourceName(m))
		}
		if m == "-" {
			return &shell.UsageError{Message: "-: an agent cannot follow standard input", Advice: "podctl run -"}
		}
		seen[m] = true
	}
	return nil
}

// runAgent follows the sources until it is told to stop.
func runAgent(ctx context.Context, e *shell.Env, o agentOptions) error {
	shell.Settle()
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

// prepareAgent does everything before the first source is read. An interrupt
// cancels it.
func prepareAgent(ctx context.Context, e *shell.Env, o agentOptions) (a *agent, err error) {
	ctx, interrupted := e.UntilInterrupt(ctx)
	defer func() {
		if !interrupted() {
			return
		}
		err = shell.ErrInterrupted
		if a != nil {
			err = errors.Join(err, a.session.Close())
		}
	}()
	events := output.NewQueue[event.Event]()
	s, err := daemon.Open(ctx, o.options(e, o.Globals, daemon.Options{
		Instance: agentName, Sources: o.sources(), KillUnknown: o.killUnknown, Events: events.Put, TokenFile: o.tokenFile,
	}))
	if held, ok := errors.AsType[*owner.HeldError](err); ok {
		return nil, secondAgent(held)
	}
	if err != nil {
		return nil, err
	}
	a = &agent{env: e, opts: o, session: s, events: events, updates: make(chan sourceUpdate)}
	a.printer = runview.NewAgent(screenOf(e, o.Globals), viewOptions(s, o.format, true))
	return a, nil
}

// secondAgent returns the error for a runtime that has an agent already.
func secondAgent(held *owner.HeldError) error {
	process, by := "", ""
	if held.PID != 0 {
		process = fmt.Sprintf(" (pid %d)", held.PID)
	}
	if held.Endpoint != "" {
		by = ", by " + held.Endpoint
	}
	advice := "start that one with more --manifests, stop it, or use another runtime with -r"
	if held.Deleted {
		advice = held.Hint()
	}
	return hint.Errorf(advice, "an agent%s runs on this runtime already%s", process, by)
}
