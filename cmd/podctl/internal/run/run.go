package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/urfave/cli/v2"
	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/runview"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/desired/manifest"
	"github.com/podctl/podctl/internal/node"
	"github.com/podctl/podctl/internal/pod/event"
	"github.com/podctl/podctl/internal/serve/daemon"
	"github.com/podctl/podctl/internal/sys/hint"
)

// runOptions are what `podctl run` was asked for.
type runOptions struct {
	shell.Globals
	runtimeOptions
	manifestOptions
	// wait is what to wait for: waitComplete or waitReady.
	wait        string
	waitTimeout time.Duration // 0 is for ever
	// grace, in seconds, shortens the pods' own when they are terminated; nil
	// leaves it.
	grace  *int64
	keep   bool
	logs   bool
	format output.Format
}

const (
	waitComplete = "complete"
	waitReady    = "ready"
)

// runData are the types that run and agent print.
var runData = []any{
	runview.RunLine{}, runview.ContainerLine{}, event.Exit{}, event.Image{}, event.ContainerWait{}, event.Stop{}, event.Eviction{}, event.HostPort{}, event.Probe{}, event.Unready{}, event.Failure{},
}

func runCommand(e *shell.Env) *cmdline.Command {
	return &cmdline.Command{
		Name:    "run",
		Usage:   "run pods in the foreground until they end",
		Args:    cmdline.Args{Of: cmdline.Manifest, Many: true},
		Effect:  cmdline.Changes,
		OnNodes: cmdline.NotOnNodes,
		Data:    runData,
		Description: "Ctrl-C terminates the pods gracefully, a second one forces, a third one leaves them.\n" +
			"Running the same manifest again adopts the pods that already run; a changed one\n" +
			"updates them in place where the API server allows that, and else replaces them.\n" +
			"-o json prints what happens, an object a line; -o yaml each pod as it ended, or as it\nbecame ready with --wait ready.\n" +
			"-o is " + output.StreamFormats + ".",
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "wait", Value: waitComplete, DefaultText: waitComplete, Usage: "wait until the pods are in this `STATE`: complete or ready"},
			&cli.DurationFlag{Name: "wait-timeout", DefaultText: "never", Usage: "give up after this `DURATION`"},
			shell.GracePeriodFlag(),
			&cli.BoolFlag{Name: "keep", Usage: "leave the pods running on exit; a later run adopts them"},
			&cli.BoolFlag{Name: "logs", Usage: "print what the containers write, prefixed by pod/container"},
			shell.NoHeadersFlag(),
		}, slices.Concat(manifestFlags(), runtimeFlags())...),
		Action: func(c *cli.Context) error {
			o := runOptions{
				Globals: shell.ReadGlobals(c),
				wait:    c.String("wait"), waitTimeout: c.Duration("wait-timeout"),
				keep: c.Bool("keep"), logs: c.Bool("logs"),
			}
			var err error
			if o.manifestOptions, err = readManifestOptions(c); err != nil {
				return err
			}
			o.objectsComplete = true
			if o.runtimeOptions, err = readRuntimeOptions(c); err != nil {
				return err
			}
			if o.grace, err = shell.ReadGracePeriod(c); err != nil {
				return err
			}
			if o.format, err = shell.ReadOutput(c); err != nil {
				return err
			}
			if err := o.check(); err != nil {
				return err
			}
			return runRun(c.Context, e, o)
		},
	}
}

func (o runOptions) check() error {
	switch {
	case o.wait != waitComplete && o.wait != waitReady:
		return shell.Usagef("--wait %q is neither complete nor ready", o.wait)
	case o.waitTimeout < 0:
		return shell.Usagef("--wait-timeout %s is negative", o.waitTimeout)
	}
	return nil
}

// runSource is the only source of a run.
const runSource = "manifests"

// runRun runs the pods of the manifests until they are done with, and leaves
// nothing behind unless it is asked to.
func runRun(ctx context.Context, e *shell.Env, o runOptions) error {
	u := e.Unblocked()
	defer u.Flush()
	r, err := prepare(ctx, u, o)
	if err != nil {
		return err
	}
	err = r.run(ctx)
	if closeErr := r.session.Close(); err == nil {
		err = closeErr
	}
	return err
}

// prepare does all that comes before the first pod. An interrupt ends it.
func prepare(ctx context.Context, u shell.Unblocked, o runOptions) (r *running, err error) {
	e := u.Env
	ctx, interrupted := e.UntilInterrupt(ctx)
	defer func() {
		if !interrupted() {
			return
		}
		err = shell.ErrInterrupted
		if r != nil {
			err = errors.Join(err, r.session.Close())
		}
	}()
	set, err := loadPods(ctx, e, o.manifestOptions)
	if err != nil {
		return nil, err
	}
	if err := checkEnds(set.Pods); err != nil {
		return nil, err
	}
	events := output.NewQueue[event.Event]()
	s, err := daemon.Open(ctx, o.options(e, o.Globals, daemon.Options{
		Instance: shell.InstanceName("run"), Sources: []string{runSource}, Events: events.Put, TokenFile: o.tokenFile,
	}))
	if err != nil {
		return nil, err
	}
	if o.keep && s.Ephemeral() {
		fmt.Fprintln(e.Errw, "warning: --keep: a simulated runtime ends with podctl, and its pods with it")
	}
	view := viewOptions(s, o.format, o.wait == waitReady)
	r = &running{env: u, opts: o, session: s, masked: s.MaskedText, events: events, objects: set.Objects, printer: runview.New(screenOf(e, o.Globals), view)}
	r.pods = set.Pods
	var pods []*v1.Pod
	for _, p := range set.Pods {
		if pods = append(pods, p.Pod); p.Job == nil {
			r.want = append(r.want, node.Desired{Pod: p.Pod, Document: p.Document, Workload: p.Workload})
		}
	}
	if err := s.CheckRuntimeClasses(ctx, pods, set.Objects); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return r, nil
}

// checkEnds refuses CronJobs: a run ends with its pods.
func checkEnds(pods []*manifest.Pod) error {
	for _, p := range pods {
		if p.Job != nil && p.Job.Cron != nil {
			return hint.Errorf("podctl agent --manifests "+strings.Replace(p.File, "stdin", "FILE", 1)+" runs it by its schedule",
				"%s:%d: CronJob %q: podctl run runs what ends, and a CronJob does not", p.File, p.Line, p.Job.Name)
		}
	}
	return nil
}

// endless reports whether a pod never completes by itself: a container of it
// always starts again.
func endless(p *v1.Pod) bool {
	return slices.ContainsFunc(p.Spec.Containers, func(c v1.Container) bool {
		if c.RestartPolicy != nil {
			return *c.RestartPolicy == v1.ContainerRestartPolicyAlways
		}
		return p.Spec.RestartPolicy == v1.RestartPolicyAlways
	})
}
