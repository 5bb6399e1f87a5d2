package pods

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/owners/sources"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/restart"
	"github.com/podctl/podctl/internal/pods/target"
	"github.com/podctl/podctl/internal/pods/view"
)

// restartOptions are the options of `podctl restart`.
type restartOptions struct {
	shell.Globals
	restart.Options
	words     []string
	namespace string
	// sources has the kubelet that the user named.
	sources sources.Sources
}

func restartCommand(e *shell.Env) *cmdline.Command {
	return &cmdline.Command{
		Name:      "restart",
		Usage:     "restart containers in place, without a new sandbox",
		Args:      cmdline.Args{Of: cmdline.Target, Many: true},
		Effect:    cmdline.Changes,
		FlagHints: namesHints,
		Description: "POD alone is all of its containers that run. The podctl process that manages the pod restarts\n" +
			"its containers, also one that waits for its back-off. Those of a kubelet's pod are stopped, with their\n" +
			"preStop hook and grace period, and the kubelet starts them again by its own rules. A container is\n" +
			"refused if its restart policy does not start it again, or if no owner of the pod lives. Ctrl-C stops\n" +
			"waiting.",
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "namespace", Aliases: []string{"n"}, DefaultText: "default, else any", Usage: "`NAMESPACE` of names without one"},
			&cli.BoolFlag{Name: "wait", Value: true, DefaultText: "true", Usage: "wait for the next attempt of each container; --wait=false does not"},
			&cli.DurationFlag{Name: "timeout", Value: 30 * time.Second, DefaultText: "30s", Usage: "give up waiting for the next attempt this `DURATION` after the grace period"},
			&cli.BoolFlag{Name: "force", Usage: "also where it is not known whether the owner starts the container again"},
		}, shell.KubeletFlags()...),
		Action: func(c *cli.Context) error {
			o, err := readRestart(c)
			if err != nil {
				return err
			}
			return e.UntilInterrupted(c.Context, func(ctx context.Context) error { return runRestart(ctx, e, o) })
		},
	}
}

func readRestart(c *cli.Context) (o restartOptions, err error) {
	o = restartOptions{Globals: shell.ReadGlobals(c), words: c.Args().Slice(), namespace: c.String("namespace")}
	o.Options = restart.Options{Force: c.Bool("force"), Wait: c.Bool("wait"), Timeout: c.Duration("timeout")}
	// This command's --timeout is not that of CRI calls.
	o.Globals.Timeout = shell.CallTimeout(c)
	if len(o.words) == 0 {
		return o, noNameError(c)
	}
	if o.sources, err = shell.ReadDesired(c); err != nil {
		return o, err
	}
	if o.Options.Timeout < 0 {
		return o, shell.Usagef("--timeout %s is negative", o.Options.Timeout)
	}
	return o, nil
}

// runRestart restarts containers of several pods, stop.AtOnce at a time.
func runRestart(ctx context.Context, e *shell.Env, o restartOptions) error {
	req, err := openPodRequest(ctx, e, o.Globals, owners.RestartPrefix, func(r *view.Reader) { r.Sources = o.sources })
	if err != nil {
		return err
	}
	defer req.close()
	r := &restart.Restarter{Options: o.Options, Client: req.client, Names: req.names, Owners: req.reader.Asker, Dial: e.Dial, Log: e.Log}
	found, unknown := target.WholePods(req.pods, target.Query{Namespace: o.namespace, Words: o.words, Literal: true})
	errs := eachPod(ctx, e, len(found), func(i int) ([]string, error) {
		p := found[i].Pod
		results, err := r.Restart(ctx, p, found[i].Containers)
		var lines []string
		for _, res := range results {
			lines = append(lines, restartText(p, res))
		}
		return lines, err
	})
	return errors.Join(append(errs, unknown)...)
}

// restartText is the line about a container.
func restartText(p *view.Pod, r restart.Result) string {
	name := output.OneLine(p.DisplayName() + "/" + r.Container)
	if r.Next == nil {
		return fmt.Sprintf("%s: %s is being restarted by %s", name, attemptText(r.Old), r.By)
	}
	return fmt.Sprintf("%s restarted by %s: %s → %s, after %s", name, r.By, attemptText(r.Old), attemptText(*r.Next), r.Took.Round(100*time.Millisecond))
}

// attemptText is "attempt 2 (3f9c21ab12cd, exit code 143)".
func attemptText(a restart.Attempt) string {
	text := fmt.Sprintf("attempt %d (%s", a.Number, pod.ShortID(a.ID))
	if a.ExitCode != nil {
		text += fmt.Sprintf(", exit code %d", *a.ExitCode)
	}
	return text + ")"
}
