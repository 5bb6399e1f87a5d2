package lab

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/lab/proxy"
	"github.com/podctl/podctl/internal/lab/relay"
	"github.com/podctl/podctl/internal/lab/rules"
	"github.com/podctl/podctl/internal/lab/trace"
	"github.com/podctl/podctl/internal/lab/tracing"
	"github.com/podctl/podctl/internal/sys/ownsocket"
)

// proxyOptions are the options of `podctl proxy`.
type proxyOptions struct {
	shell.Globals
	listen string // absolute
	inject []rules.Rule
	file   string       // of rules, "" for none
	data   []byte       // of the file
	rules  []rules.Rule // of the file
}

func proxyCommand(e *shell.Env) *cmdline.Command {
	return &cmdline.Command{
		Name:    "proxy",
		Usage:   "stand before a runtime, and have its calls fail as rules say",
		Effect:  cmdline.Changes,
		OnNodes: cmdline.NotOnNodes,
		Description: "Serves the runtime at another socket, until Ctrl-C. A rule is KEY=VALUE words, or in the file of\n" +
			"--rules a YAML object with the same keys. The rules are those of --inject, then those of the\n" +
			"file, which is followed: when it changes, its rules are replaced; one that stays keeps its\n" +
			"counts. Each firing is printed, and how often each rule fired at the end.\n\n" +
			"A rule matches by method, pod ([NAMESPACE/]POD) and container, all three patterns; nth (3, 3-,\n" +
			"3-5: the number of the matching call), probability with seed, and where=PATH=VALUE (a field of\n" +
			"the answer). On lists, pod and container select entries. It does one or more of: error=CODE and\n" +
			"message, delay=2s, hang, lost=CODE (the runtime did the work, the answer is lost), repeat=N\n" +
			"(more calls), set=PATH=VALUE and unset=PATH (a field of the answer or of each entry, as protobuf\n" +
			"JSON names it), stale=5s (an answer of up to that age again), close (the connection); on lists\n" +
			"omit, copies=N (of each entry) and fill=N (entries); on streams end, which like error, hang and\n" +
			"close is at once or with after=N after N messages, and for each message drop, delay, repeat=N,\n" +
			"set and unset. A rule that does nothing with the methods that it\n" +
			"matches is refused.\n\n" +
			"   podctl proxy --listen /run/proxy.sock --inject 'method=StopContainer pod=web* error=Internal'\n" +
			"   podctl proxy --listen /run/proxy.sock --inject 'method=List* delay=2s probability=0.1'\n" +
			"   podctl proxy --listen /run/proxy.sock --inject 'method=GetContainerEvents drop nth=3-'\n" +
			"   podctl proxy --listen /run/proxy.sock --inject 'method=GetContainerEvents hang after=100'\n" +
			"   podctl -r sim: proxy --listen /run/proxy.sock --rules faults.yaml",
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "listen", Usage: "unix `SOCKET` to create, with mode 0600; one that a process serves is refused"},
		}, shell.RuleFlags()...),
		Action: func(c *cli.Context) error {
			o, err := readProxy(c)
			if err != nil {
				return err
			}
			ctx, interrupted := e.UntilInterrupt(c.Context)
			defer interrupted()
			return runProxy(ctx, e, o)
		},
	}
}

func readProxy(c *cli.Context) (proxyOptions, error) {
	o := proxyOptions{Globals: shell.ReadGlobals(c), file: c.String("rules")}
	listen := strings.TrimPrefix(c.String("listen"), "unix://")
	if listen == "" {
		return o, shell.Usagef("--listen SOCKET is required")
	}
	var err error
	if o.listen, err = filepath.Abs(listen); err != nil {
		return o, err
	}
	if o.inject, err = shell.ReadInject(c); err != nil {
		return o, err
	}
	if err := o.load(); err != nil {
		return o, &shell.UsageError{Message: err.Error()}
	}
	return o, nil
}

// load reads the file of rules; an error leaves the rules as they are.
func (o *proxyOptions) load() error {
	all, data, err := shell.ReadRules(o.file)
	if data != nil {
		o.data = data
	}
	if err == nil {
		o.rules = all
	}
	return err
}

// rulesPoll is how often the file of rules is read.
const rulesPoll = time.Second

// runProxy serves until ctx ends.
func runProxy(ctx context.Context, e *shell.Env, o proxyOptions) error {
	u := e.Unblocked()
	defer u.Flush()
	runtime, err := tracing.Connect(ctx, o.ConnectOptions(u.Env), func(format string, args ...any) { fmt.Fprintf(u.Errw, format+"\n", args...) })
	if err != nil {
		return err
	}
	defer runtime.Close()
	var names trace.Names
	runtime.LearnPods(ctx, u.Log, &names)
	p, err := proxy.New(proxy.Options{Dial: runtime.Dial, CallerOf: relay.PeerOf, Now: e.Now, Fired: func(f *rules.Firing, c rules.Call) {
		what := strings.TrimSpace(c.Method + " " + output.OneLine(c.Target.String()))
		fmt.Fprintf(u.Out, "%s  %s  %s  rule %d, %s (firing %d)\n", output.Clock(e.Now()), output.OneLine(c.Caller.String()), what, f.Number, output.OneLine(f.Source), f.Count)
	}}, rules.NewSet(o.inject), &names)
	if err != nil {
		return err
	}
	defer p.Close()
	if err := p.Follow(o.rules); err != nil {
		return err
	}
	l, err := ownsocket.Listen(o.listen)
	if err != nil {
		return err
	}
	served := make(chan error, 1)
	go func() { served <- p.Serve(l) }()
	fmt.Fprintf(u.Errw, "serving %s at unix://%s, %s\n", runtime.Endpoint.Runtime, o.listen, output.Plural(len(p.Rules()), "rule"))
	poll := time.NewTicker(rulesPoll)
	defer poll.Stop()
	for err == nil && ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case err = <-served:
			err = fmt.Errorf("serve: %w", err)
		case <-poll.C:
			o.follow(u.Env, p)
		}
	}
	p.Close()
	shell.PrintRules(u.Env, p.Rules())
	return err // Close has closed the listener, too
}

// follow has the proxy use the file of rules as it is now.
func (o *proxyOptions) follow(e *shell.Env, p *proxy.Proxy) {
	before := o.data
	err := o.load()
	if bytes.Equal(before, o.data) {
		return
	}
	if err == nil {
		err = p.Follow(o.rules)
	}
	if err != nil {
		fmt.Fprintf(e.Errw, "the rules stay as they are: %v\n", err)
		return
	}
	fmt.Fprintf(e.Errw, "%s changed: %s\n", o.file, output.Plural(len(o.rules), "rule"))
}
