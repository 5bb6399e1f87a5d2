package look

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/inspect"
	"github.com/podctl/podctl/internal/pods/target"
)

// inspectOptions are the options of `podctl inspect`.
type inspectOptions struct {
	shell.Globals
	target.Query
	format      output.Format
	showSecrets bool
}

// inspectCommand returns the command that prints what the runtime answers about pods.
func inspectCommand(e *shell.Env) *cmdline.Command {
	return &cmdline.Command{
		Name:        "inspect",
		Usage:       "print the runtime's verbose status of a pod's sandbox and containers",
		Args:        cmdline.Args{Of: cmdline.Target, Many: true, Patterns: true},
		Effect:      cmdline.Reads,
		OnRecording: true,
		OnNodes:     cmdline.NodePage,
		Aliases:     []string{"inspectp"},
		Data:        []any{inspect.Pod{}, inspect.Metadata{}},
		Description: "Prints, as JSON, what the runtime answers with its verbose status calls about the sandbox and the\n" +
			"newest attempt of each container, or the attempts that --attempt or --previous choose. One\n" +
			"target is printed as an object, several as an array. Values of environment variables from\n" +
			"Secrets, or with names such as PASSWORD and TOKEN, are masked, and podctl's copy of the manifest;\n" +
			"arguments of commands are not.\n" +
			"-o is json (default), yaml, name, jsonpath=TEMPLATE, go-template=TEMPLATE or custom-columns=SPEC.",
		Flags: append(targetFlags(bySelector|byContainer|byAttempt),
			&cli.BoolFlag{Name: "show-secrets", Usage: "do not mask values that may be secrets"},
			shell.NoHeadersFlag(),
		),
		Action: func(c *cli.Context) error {
			o, err := readInspect(c)
			if err != nil {
				return err
			}
			return e.UntilInterrupted(c.Context, func(ctx context.Context) error { return runInspect(ctx, e, o) })
		},
	}
}

func readInspect(c *cli.Context) (o inspectOptions, err error) {
	o = inspectOptions{Globals: shell.ReadGlobals(c), showSecrets: c.Bool("show-secrets")}
	if o.Output == "" {
		o.Output = "json"
	}
	if o.format, err = shell.ReadFormat(o.Output); err != nil {
		return o, err
	}
	o.format.NoHeaders = c.Bool("no-headers")
	if o.format.IsTable() {
		return o, &shell.UsageError{Message: fmt.Sprintf("--output %q: inspect prints data", o.Output), Advice: "podctl describe prints a page"}
	}
	o.Query, err = needTarget(c, c.Args().Slice())
	return o, err
}

func runInspect(ctx context.Context, e *shell.Env, o inspectOptions) error {
	s, err := shell.OpenSession(ctx, e, o.Globals)
	if err != nil {
		return err
	}
	defer s.Close()
	o.format.Width = e.TableWidth(o.NoTrunc)
	o.AllContainers = o.Container == ""
	s.ReadPrevious(ctx, o.Query)
	found, wrong := target.Containers(s.Pods, o.Query)
	all, err := (&inspect.Inspector{Session: s, ShowSecrets: o.showSecrets}).Pods(ctx, found)
	if err != nil {
		return err
	}
	var items []output.Item
	for _, p := range all {
		items = append(items, output.Item{Name: p.CLIName, Data: p})
	}
	switch {
	case len(items) == 0:
		return wrong
	case len(items) == 1 && o.isOne():
		err = o.format.PrintObject(e.Out, nil, items[0])
	default:
		err = o.format.Print(e.Out, output.List{Items: items})
	}
	return errors.Join(err, wrong)
}

// isOne reports whether the query can only stand for one pod.
func (o inspectOptions) isOne() bool {
	words := strings.Join(o.Words, " ")
	return o.Selector == nil && !o.AllNamespaces && !strings.ContainsAny(words, `*?[\`) &&
		(len(o.Words) == 1 || len(o.Words) == 2 && pod.IsPodKind(o.Words[0]))
}
