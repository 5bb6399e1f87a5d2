package pods

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/owners/control"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/sys/hint"
)

func startCommand(e *shell.Env) *cmdline.Command {
	return &cmdline.Command{
		Name:      "start",
		Usage:     "start pods that were stopped, have ended or were rejected",
		Args:      cmdline.Args{Of: cmdline.Pod, Many: true, ByName: true},
		Effect:    cmdline.Changes,
		FlagHints: namesHints,
		Flags:     []cli.Flag{namespaceFlag()},
		Action: func(c *cli.Context) error {
			o := stopOptions{Globals: shell.ReadGlobals(c), names: c.Args().Slice(), namespace: c.String("namespace")}
			if len(o.names) == 0 {
				return noNameError(c)
			}
			return e.UntilInterrupted(c.Context, func(ctx context.Context) error { return runStart(ctx, e, o) })
		},
	}
}

// runStart asks every podctl process for each pod: the runtime may have nothing
// of it.
func runStart(ctx context.Context, e *shell.Env, o stopOptions) error {
	clients, err := shell.LivePodctls(ctx, e, o.Globals)
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range o.names {
		namespace := o.namespace
		if before, after, ok := strings.Cut(name, "/"); ok {
			namespace, name = before, after
		}
		errs = append(errs, start(ctx, e, clients, namespace, name))
	}
	return errors.Join(errs...)
}

func start(ctx context.Context, e *shell.Env, clients []*control.Client, namespace, name string) error {
	display := pod.DisplayName(namespace, name)
	by, err := askManager(clients, display, func(c *control.Client) error { return c.Start(ctx, namespace, name) })
	if err == nil {
		fmt.Fprintf(e.Out, "%s started by %s\n", display, by)
	}
	return err
}

// askManager asks the podctl processes about a pod until one has it, and returns which did.
func askManager(clients []*control.Client, display string, ask func(*control.Client) error) (by string, err error) {
	var refused error
	for _, c := range clients {
		switch err := ask(c); {
		case err == nil:
			return c.Instance(), nil
		case !errors.Is(err, control.ErrNotFound):
			refused = err
		}
	}
	if refused != nil {
		return "", refused
	}
	return "", hint.Errorf("podctl run starts a pod from its manifest", "no podctl process manages a pod %s", display)
}
