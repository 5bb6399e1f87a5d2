package look

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/urfave/cli/v2"
	"golang.org/x/sync/errgroup"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/owners/control"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/event"
	"github.com/podctl/podctl/internal/pods/describe"
	"github.com/podctl/podctl/internal/pods/target"
	"github.com/podctl/podctl/internal/pods/view"
	"github.com/podctl/podctl/internal/pods/why"
	"github.com/podctl/podctl/internal/services"
)

// describeOptions are the options of `podctl describe`.
type describeOptions struct {
	shell.Globals
	query    target.Query
	services []services.Service
	format   output.Format
	logLines int
}

// describeCommand returns the command `podctl describe`.
func describeCommand(e *shell.Env) *cmdline.Command {
	return &cmdline.Command{
		Name:        "describe",
		Usage:       "show what every layer knows of a pod: why it does not run, and the next command to try",
		Args:        cmdline.Args{Of: cmdline.Pod, Many: true, Patterns: true, Services: true},
		Effect:      cmdline.Reads,
		OnRecording: true,
		OnNodes:     cmdline.NodePage,
		Data: []any{view.Pod{}, view.Metadata{}, view.Owner{}, view.Spec{}, control.Worker{}, control.Waiting{}, pod.Start{}, pod.StartTook{}, event.HostPort{}, control.Call{}, control.Lock{}, view.Stopping{}, view.Sandbox{},
			view.Cgroup{}, pod.PSI{}, pod.Stall{}, view.Condition{}, view.Container{}, view.Attempt{}, view.End{}, view.Cause{}, view.Env{}, view.Probe{},
			view.Mount{}, view.TakenPort{}, view.Volume{}, view.Event{}, view.Unread{},
		},
		Description: "The page begins with what is wrong, and why as far as that was observed: an exit caused by\n" +
			"the kernel's OOM killer is told from other signals by the runtime, the kernel's log and the\n" +
			"counters of the cgroup; what was inferred is marked as likely, what is not known as unknown.\n" +
			"Then come the owner, its worker, sandbox, cgroup, containers, volumes and events, the last\n" +
			"lines of containers that failed, and the next commands. A layer that cannot be read is listed\n" +
			"under \"Not read\". Values of Secrets are not read. What AppArmor, SELinux or seccomp denied a\n" +
			"container, also one that has exited, is shown by the logs of the kernel and of auditd: a deny\n" +
			"rule of a profile, and a seccomp filter that returns an error, leave no record there.\n" +
			"svc/NAME shows a Service, what is behind it and why nothing is, and then its pods.\n" +
			"-o is page (default), " + strings.TrimPrefix(output.Formats, "table, wide, ") + ".",
		Flags: append(targetFlags(bySelector),
			&cli.IntFlag{Name: "log-lines", Value: 10, Usage: "`NUMBER` of last log lines of a container that failed"},
			shell.NoHeadersFlag(),
		),
		Action: func(c *cli.Context) error {
			o := describeOptions{Globals: shell.ReadGlobals(c), logLines: c.Int("log-lines")}
			var words []string
			var err error
			if o.services, words, err = shell.SplitServices(o.Globals, c.Args().Slice()); err != nil {
				return err
			}
			if o.query, err = readTarget(c, words); err == nil && len(o.services) == 0 {
				o.query, err = needTarget(c, words)
			}
			if err != nil {
				return err
			}
			if o.logLines < 0 || o.logLines > maxLogLines {
				return shell.Usagef("--log-lines %d is not from 0 to %d", o.logLines, maxLogLines)
			}
			if o.Output == "page" {
				o.Output = ""
			}
			if o.format, err = shell.ReadFormat(o.Output); err != nil {
				return err
			}
			o.format.NoHeaders = c.Bool("no-headers")
			if o.format.IsTable() {
				for i := range o.services {
					printService(e.Out, &o.services[i])
				}
			}
			if len(o.services) > 0 && !o.query.Names() {
				return printPages(e, o, nil)
			}
			return e.UntilInterrupted(c.Context, func(ctx context.Context) error { return runDescribe(ctx, e, o) })
		},
	}
}

const (
	// maxLogLines bounds --log-lines.
	maxLogLines = 1000
	// parallelPods bounds the pods that are read at the same time.
	parallelPods = 8
)

func runDescribe(ctx context.Context, e *shell.Env, o describeOptions) error {
	s, err := shell.ConnectSession(ctx, e, o.Globals)
	if err != nil {
		return describeReported(ctx, e, o, err)
	}
	defer s.Close()
	s.Reader.CountUndesired = true
	if err := s.List(ctx); err != nil {
		return describeReported(ctx, e, o, err)
	}
	r := s.Reader
	r.Denials = true
	_ = r.SetKubelet(&s.Answers.Kubelet) // what it did not say is not read of its pods
	return o.describe(ctx, e, s.Pods, r)
}

// describeReported describes pods as live podctl processes report them, where the
// runtime does not answer. It returns the runtime's error.
func describeReported(ctx context.Context, e *shell.Env, o describeOptions, failed error) error {
	endpoint, paths, err := shell.FindSockets(ctx, o.Globals)
	if err != nil {
		return failed
	}
	r := shell.NewReader(e, endpoint, paths)
	pods := shell.Reported(e, r, r.Start(ctx), failed)
	if len(pods) == 0 || ctx.Err() != nil {
		return failed
	}
	return errors.Join(failed, o.describe(ctx, e, pods, r))
}

// describe prints what is known of those of the pods that the user names.
func (o describeOptions) describe(ctx context.Context, e *shell.Env, all []*view.Pod, r *view.Reader) error {
	pods, err := target.Pods(all, o.query)
	r.LogLines, r.KernelLog = o.logLines, sync.OnceValues(r.KernelLog) // which is that of all pods
	seen := make([]*view.Pod, len(pods))
	var g errgroup.Group
	g.SetLimit(parallelPods)
	for i, p := range pods {
		g.Go(func() error {
			seen[i] = r.Read(ctx, p)
			why.Complete(seen[i], e.Now())
			return nil
		})
	}
	_ = g.Wait() // no function returns an error
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return errors.Join(printPages(e, o, seen), err)
}

// printPages prints a page for each pod, or the facts in a data format, those of Services first.
func printPages(e *shell.Env, o describeOptions, all []*view.Pod) error {
	if !o.format.IsTable() {
		l := output.List{}
		for _, s := range o.services {
			l.Items = append(l.Items, output.Item{Name: s.Namespace + "/" + s.Name, Data: s})
		}
		for _, f := range all {
			l.Items = append(l.Items, output.Item{Name: f.CLIName(), Data: f})
		}
		return o.format.Print(e.Out, l)
	}
	for i, f := range all {
		if i+len(o.services) > 0 {
			fmt.Fprintln(e.Out)
		}
		fmt.Fprint(e.Out, describe.Page(f, e.Now()))
	}
	return nil
}
