package lab

import (
	"context"
	"errors"
	"io/fs"
	"strconv"
	"strings"
	"syscall"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/lab/proxy"
	"github.com/podctl/podctl/internal/lab/rules"
	"github.com/podctl/podctl/internal/sys/bounded"
	"github.com/podctl/podctl/internal/sys/hint"
)

// proxyRulesOptions are the options of `podctl proxy rules`.
type proxyRulesOptions struct {
	shell.ListOptions
	proxy  string // the path at which it listens
	change *proxy.RulesRequest
}

func proxyRulesCommand(e *shell.Env) *cmdline.Command {
	changes := func(c *cli.Context) bool { return c.IsSet("add") || c.IsSet("remove") || c.IsSet("rules") }
	return &cmdline.Command{
		Name:    "rules",
		Usage:   "list the rules of a proxy that runs, with their counts, and change them",
		Effect:  cmdline.ChangesIf(changes, ""),
		OnNodes: cmdline.NotOnNodes,
		Data:    []any{proxy.Rule{}},
		Description: "Each rule has a number, which stays with it. The rules of --rules and --add come after those\n" +
			"that stay. A change with a mistake changes nothing. A rule that stays, or comes again with the\n" +
			"same text, keeps its number and counts, and goes on with nth. Calls that have begun go on as\n" +
			"they are, and those that hang by a rule that is removed go on. When the file of the proxy's own --rules changes, its rules are replaced by those in\n" +
			"it, also the ones that were removed here by number; rules from elsewhere stay. --rules and\n" +
			"--remove all end that, too: the file is not followed any more. podctl proxy --help says what a\n" +
			"rule is.\n" +
			"-o is " + output.Formats + ".\n\n" +
			"   podctl proxy rules --proxy /run/proxy.sock\n" +
			"   podctl proxy rules --proxy /run/proxy.sock --add 'method=StopContainer error=Internal'\n" +
			"   podctl proxy rules --proxy /run/proxy.sock --remove 2 --remove 3\n" +
			"   podctl proxy rules --proxy /run/proxy.sock --rules faults.yaml",
		Flags: append(shell.ListFlags(),
			&cli.StringFlag{Name: "proxy", Usage: "`SOCKET` of the proxy's --listen"},
			&cli.StringSliceFlag{Name: "add", Usage: "`RULE` to add; repeatable"},
			&cli.StringSliceFlag{Name: "remove", Usage: "`NUMBER` of a rule to remove, or all; repeatable"},
			&cli.StringFlag{Name: "rules", Usage: "YAML `FILE` whose rules replace all rules"},
		),
		Action: func(c *cli.Context) error {
			o, err := readProxyRules(c)
			if err != nil {
				return err
			}
			return o.UntilInterrupted(c.Context, e, func(ctx context.Context) error { return runProxyRules(ctx, e, o) })
		},
	}
}

func readProxyRules(c *cli.Context) (o proxyRulesOptions, err error) {
	if o.ListOptions, err = shell.ReadList(c); err != nil {
		return o, err
	}
	o.proxy = strings.TrimPrefix(c.String("proxy"), "unix://")
	if o.proxy == "" {
		return o, &shell.UsageError{Message: "--proxy SOCKET is required", Advice: "SOCKET is that of podctl proxy --listen SOCKET"}
	}
	if !c.IsSet("add") && !c.IsSet("remove") && !c.IsSet("rules") {
		return o, nil
	}
	o.change = &proxy.RulesRequest{Add: c.StringSlice("add"), RemoveAll: c.IsSet("rules")}
	for _, word := range c.StringSlice("remove") {
		n, err := strconv.Atoi(word)
		switch {
		case word == "all":
			o.change.RemoveAll = true
		case err != nil:
			return o, shell.Usagef("--remove %q is neither the number of a rule nor all", word)
		default:
			o.change.Remove = append(o.change.Remove, n)
		}
	}
	if !c.IsSet("rules") {
		return o, nil
	}
	o.change.FileName = c.String("rules")
	data, err := bounded.Read(o.change.FileName, rules.MaxFile)
	o.change.File = string(data)
	return o, err
}

// runProxyRules changes the rules, then lists them.
func runProxyRules(ctx context.Context, e *shell.Env, o proxyRulesOptions) error {
	return o.Show(ctx, e, "no rules", func(ctx context.Context) (output.List, error) {
		all, err := proxy.AskRules(ctx, proxy.RulesSocket(o.proxy), o.change)
		o.change = nil // --watch goes on with the list only
		switch {
		case errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED):
			err = hint.With(err, "--proxy is the SOCKET of a podctl proxy --listen SOCKET that runs")
		case errors.Is(err, fs.ErrPermission):
			err = hint.With(err, "the socket is that of the user who started the proxy, and root's")
		}
		l := output.List{Header: []string{"NUMBER", "MATCHED", "FIRED", "SOURCE", "RULE"}}
		for _, r := range all {
			number := strconv.Itoa(r.Number)
			l.Items = append(l.Items, output.Item{Name: number, Data: r, Cells: []string{number, strconv.Itoa(r.Matched), strconv.Itoa(r.Fired), r.Source, r.Rule}})
		}
		return l, err
	})
}
