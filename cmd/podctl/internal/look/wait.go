package look

import (
	"context"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/pods/await"
	"github.com/podctl/podctl/internal/pods/target"
	"github.com/podctl/podctl/internal/pods/view"
)

// waitOptions are the options of `podctl wait`.
type waitOptions struct {
	shell.Globals
	target.Query
	condition await.Condition
	// timeout of the wait; 0 checks once.
	timeout time.Duration
	// exitCode: podctl exits with the container's code.
	exitCode bool
	format   output.Format
}

// waitCommand returns the command that waits for a condition of pods.
func waitCommand(e *shell.Env) *cmdline.Command {
	return &cmdline.Command{
		Name:   "wait",
		Usage:  "wait until pods are ready or deleted, or containers have exited",
		Args:   cmdline.Args{Of: cmdline.Target, Many: true, Patterns: true},
		Effect: cmdline.Reads,
		Data:   []any{waitData{}},
		Description: "--for is one of:\n" +
			"  condition=Ready    a condition of the pod's API status is True, or =VALUE. Of a pod whose owner\n" +
			"                     shows no status: its sandbox is ready and all of its containers run\n" +
			"  delete             the runtime holds nothing of the pod; a pod that does not exist is deleted\n" +
			"  exit[=CODE]        the container's newest attempt has exited; another CODE is a failure\n" +
			"  jsonpath={PATH}=VALUE\n" +
			"                     a value of what podctl pods -o json prints; without =VALUE, any\n" +
			"Every target is waited for; the exit code is 1 if one does not meet the condition, with what was last\n" +
			"seen of it. --exit-code exits with the container's own code.\n" +
			"-o is " + output.StreamFormats + ".",
		Flags: append(targetFlags(bySelector|byContainer|byAllContainers),
			&cli.StringFlag{Name: "for", Usage: "wait for this `CONDITION`: " + await.Forms},
			&cli.DurationFlag{Name: "timeout", Value: 30 * time.Second, DefaultText: "30s", Usage: "give up after this `DURATION`; 0 checks once"},
			&cli.BoolFlag{Name: "exit-code", Usage: "exit with the container's exit code, with --for exit and a single container"},
			shell.NoHeadersFlag(),
		),
		Action: func(c *cli.Context) error {
			o, err := readWait(c)
			if err != nil {
				return err
			}
			return e.UntilInterrupted(c.Context, func(ctx context.Context) error { return runWait(ctx, e, o) })
		},
	}
}

func readWait(c *cli.Context) (o waitOptions, err error) {
	o = waitOptions{Globals: shell.ReadGlobals(c), timeout: c.Duration("timeout"), exitCode: c.Bool("exit-code")}
	// This command's --timeout is not that of CRI calls.
	o.Timeout = shell.CallTimeout(c)
	if c.String("for") == "" {
		return o, &shell.UsageError{Message: "no condition given", Advice: "--for " + await.Forms}
	}
	if o.condition, err = await.Parse(c.String("for")); err != nil {
		return o, &shell.UsageError{Message: "--for " + err.Error(), Advice: "one of: " + await.Forms}
	}
	if o.exitCode && o.condition.Kind != await.Exited {
		return o, shell.Usagef("--exit-code needs --for exit")
	}
	if o.format, err = shell.ReadOutput(c); err != nil {
		return o, err
	}
	o.Query, err = needTarget(c, c.Args().Slice())
	return o, err
}

// waitData is one target of `podctl wait -o json`, a line as soon as it is decided.
type waitData struct {
	Pod       string `json:"pod"`                 // NAMESPACE/NAME
	UID       string `json:"uid"`                 // of the pod
	Container string `json:"container,omitempty"` // with --for exit
	Condition string `json:"condition"`           // as it was given
	Met       bool   `json:"met"`                 // whether it is
	TimedOut  bool   `json:"timedOut,omitempty"`  // it is not yet
	Seen      string `json:"seen"`                // what was last seen
	ExitCode  *int32 `json:"exitCode,omitempty"`  // of the container, if it has exited
}

func runWait(ctx context.Context, e *shell.Env, o waitOptions) error {
	s, err := shell.OpenSession(ctx, e, o.Globals)
	if err != nil {
		return err
	}
	defer s.Close()
	outage, stream := shell.Outage{Env: e}, o.format.NewStream(e.Out)
	w := &await.Waiter{
		Session: s, Condition: o.condition, Query: o.Query, Timeout: o.timeout, Now: e.Now, Ongoing: outage.Ongoing,
		Data: func(ctx context.Context, p *view.Pod) (any, error) {
			s.Reader.ReadStatuses(ctx, []*view.Pod{p}, true)
			return output.Generic(NewPodData(p))
		},
		Decided: func(t *await.Target) error { return o.print(e, stream, t) },
	}
	if err := w.Resolve(ctx); err != nil {
		return err
	}
	for _, t := range w.Targets {
		if len(t.DefaultedFrom) > 0 && o.format.IsTable() {
			fmt.Fprintf(e.Errw, "waiting for container %s of %s\n", t.Container.Name, t.Pod.DisplayName())
		}
	}
	if o.exitCode && len(w.Targets) != 1 {
		return shell.Usagef("--exit-code needs a single container, not %d", len(w.Targets))
	}
	if err := w.Run(ctx); err != nil || !o.exitCode || w.Targets[0].Last.ExitCode == nil {
		return err
	}
	return exitCodeError(int(*w.Targets[0].Last.ExitCode))
}

// print prints what became of a target.
func (o waitOptions) print(e *shell.Env, stream *output.Stream, t *await.Target) (err error) {
	switch {
	case !o.format.IsTable():
		d := waitData{
			Pod: t.Pod.DisplayName(), UID: string(t.Pod.UID), Condition: o.condition.String(),
			Met: t.Last.Met, TimedOut: t.TimedOut, Seen: t.Last.Last, ExitCode: t.Last.ExitCode,
		}
		if t.Container != nil {
			d.Container = t.Container.Name
		}
		err = stream.Print(t.Pod.ContainerCLIName(t.Container), d)
	case !t.Last.Met:
	case o.condition.Kind == await.Exited && t.Last.ExitCode != nil:
		fmt.Fprintf(e.Out, "%s exited %d\n", output.OneLine(t.DisplayName()), *t.Last.ExitCode)
	default:
		fmt.Fprintf(e.Out, "%s: %s\n", output.OneLine(t.DisplayName()), o.condition)
	}
	return err
}
