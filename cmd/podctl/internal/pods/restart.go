package pods

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

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
	// signal is sent in place of a restart, if it is not 0.
	signal syscall.Signal
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
			&cli.StringFlag{Name: "signal", DefaultText: "none", Usage: "only send this `SIGNAL` to the first process of each container: no hook, no wait without --wait, whatever its restart policy"},
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
	if !c.IsSet("signal") {
		return o, nil
	}
	o.Wait = o.Wait && c.IsSet("wait")
	o.signal, err = readSignal(c.String("signal"))
	return o, err
}

// readSignal reads the name of a signal, with or without SIG, or its number.
func readSignal(text string) (syscall.Signal, error) {
	if n, err := strconv.ParseUint(text, 10, 8); err == nil && n > 0 && n <= 64 {
		return syscall.Signal(n), nil
	}
	name := strings.ToUpper(text)
	if s := unix.SignalNum("SIG" + strings.TrimPrefix(name, "SIG")); s != 0 {
		return s, nil
	}
	return 0, &shell.UsageError{Message: fmt.Sprintf("--signal %q is not a signal", text), Advice: "--signal HUP, or its number"}
}

// runRestart restarts containers of several pods, stop.AtOnce at a time.
func runRestart(ctx context.Context, e *shell.Env, o restartOptions) error {
	req, err := openPodRequest(ctx, e, o.Globals, owners.RestartPrefix, func(r *view.Reader) { r.Sources = o.sources })
	if err != nil {
		return err
	}
	defer req.close()
	r := &restart.Restarter{Options: o.Options, Client: req.client, Names: req.names, Owners: req.reader.Asker, Dial: e.Dial, Procs: e.Procs, Log: e.Log}
	found, unknown := target.WholePods(req.pods, target.Query{Namespace: o.namespace, Words: o.words, Literal: true})
	errs := eachPod(ctx, e, len(found), func(i int) ([]string, error) {
		p := found[i].Pod
		var results []restart.Result
		var lines []string
		var err error
		if o.signal != 0 {
			results, err = r.Signal(ctx, p, found[i].Containers, o.signal)
		} else {
			results, err = r.Restart(ctx, p, found[i].Containers)
		}
		for _, res := range results {
			lines = append(lines, restartText(p, res, o.signal))
		}
		return lines, err
	})
	return errors.Join(append(errs, unknown)...)
}

// restartText is the line about a container.
func restartText(p *view.Pod, r restart.Result, signal syscall.Signal) string {
	name := output.OneLine(p.DisplayName() + "/" + r.Container)
	switch {
	case signal != 0 && r.Next == nil:
		return fmt.Sprintf("%s: %s sent to %s", name, signalName(signal), attemptText(r.Old))
	case r.Next == nil:
		return fmt.Sprintf("%s: %s is being restarted by %s", name, attemptText(r.Old), r.By)
	}
	by := ""
	if r.By != "" {
		by = " by " + r.By
	}
	return fmt.Sprintf("%s restarted%s: %s → %s, after %s", name, by, attemptText(r.Old), attemptText(*r.Next), r.Took.Round(100*time.Millisecond))
}

// attemptText is "attempt 2 (3f9c21ab12cd, exit code 143)".
func attemptText(a restart.Attempt) string {
	text := fmt.Sprintf("attempt %d (%s", a.Number, pod.ShortID(a.ID))
	if a.ExitCode != nil {
		text += fmt.Sprintf(", exit code %d", *a.ExitCode)
	}
	return text + ")"
}

func signalName(s syscall.Signal) string {
	if name := unix.SignalName(s); name != "" {
		return name
	}
	return fmt.Sprintf("signal %d", s)
}
