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
	"github.com/podctl/podctl/internal/sys/bounded"
	"github.com/podctl/podctl/internal/sys/ownsocket"
)

// proxyOptions are the options of `podctl proxy`.
type proxyOptions struct {
	shell.Globals
	listen string // absolute
	inject []rules.Rule
	file   string // of rules, "" for none
	data   []byte // of the file
	all    []rules.Rule
}

func proxyCommand(e *shell.Env) *cmdline.Command {
	return &cmdline.Command{
		Name:    "proxy",
		Usage:   "stand before a runtime, and have its calls fail as rules say",
		Effect:  cmdline.Changes,
		OnNodes: cmdline.NotOnNodes,
		Description: "Serves the runtime at another socket, until Ctrl-C. A rule is KEY=VALUE words, or in the file of --rules a\n" +
			"YAML object with the same keys. The file is read again when it changes; the counts of the rules start again then.\n" +
			"Each firing is printed, and how often each rule fired at the end.\n\n" +
			"A rule matches by method, pod ([NAMESPACE/]POD) and container, all three patterns; caller (pid or name),\n" +
			"nth (3, 3-, 3-5: the number of the matching call), probability with seed, from and until (durations since the\n" +
			"proxy began), and where=PATH=VALUE (a field of the answer). On lists, pod and container select entries.\n" +
			"It does one or more of: error=CODE and message, delay=2s or 1s-3s, hang, lost=CODE (the runtime did the work,\n" +
			"the answer is lost), repeat=N (more calls), set=PATH=VALUE and unset=PATH (a field of the answer or of each\n" +
			"entry, as protobuf JSON names it), stale=5s (an answer of up to that age again), close (the connection); on\n" +
			"lists omit, copies=N (of each entry) and fill=N (entries); on streams end (at once), and for each message\n" +
			"drop, delay, repeat=N, reorder (after the next one), set and unset.\n\n" +
			"   podctl proxy --listen /run/proxy.sock --inject 'method=StopContainer pod=web* error=DeadlineExceeded'\n" +
			"   podctl proxy --listen /run/proxy.sock --inject 'method=List* delay=1s-3s probability=0.1 seed=7'\n" +
			"   podctl proxy --listen /run/proxy.sock --inject 'method=GetContainerEvents drop nth=3-'\n" +
			"   podctl -r sim: proxy --listen /run/proxy.sock --rules faults.yaml",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "listen", Usage: "unix `SOCKET` to create, with mode 0600; one that a process serves is refused"},
			&cli.StringSliceFlag{Name: "inject", Usage: "`RULE` of what goes wrong with which calls; repeatable"},
			&cli.StringFlag{Name: "rules", Usage: "YAML `FILE` with a list of rules"},
		},
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
	for _, text := range c.StringSlice("inject") {
		r, err := rules.Parse("--inject", text)
		if err != nil {
			return o, &shell.UsageError{Message: err.Error(), Advice: "--inject 'method=StopContainer error=DeadlineExceeded'; podctl proxy --help"}
		}
		o.inject = append(o.inject, r)
	}
	if err := o.load(); err != nil {
		return o, &shell.UsageError{Message: err.Error()}
	}
	return o, nil
}

// load reads the file of rules; an error leaves the rules as they are.
func (o *proxyOptions) load() error {
	if o.file == "" {
		o.all = o.inject
		return nil
	}
	data, err := bounded.Read(o.file, rules.MaxFile)
	if err != nil {
		return err
	}
	o.data = data
	all, err := rules.ParseFile(o.file, data)
	if err != nil {
		return err
	}
	o.all = append(o.inject[:len(o.inject):len(o.inject)], all...)
	return nil
}

// rulesPoll is how often the file of rules is read.
const rulesPoll = time.Second

// runProxy serves until ctx ends.
func runProxy(ctx context.Context, e *shell.Env, o proxyOptions) error {
	u := e.Unblocked()
	defer u.Flush()
	runtime, err := connectTraced(ctx, u.Env, o.Globals)
	if err != nil {
		return err
	}
	defer runtime.close()
	var names trace.Names
	runtime.learn(ctx, u.Env, &names)
	p, err := proxy.New(proxy.Options{Dial: runtime.dial, CallerOf: relay.PeerOf, Now: e.Now, Fired: func(f *rules.Firing, c rules.Call) {
		what := strings.TrimSpace(c.Method + " " + output.OneLine(c.Target.String()))
		fmt.Fprintf(u.Out, "%s  %s  %s  %s (firing %d)\n", output.Clock(e.Now()), output.OneLine(callerText(c.Caller)), what, f.Source, f.Number)
	}}, rules.NewSet(o.all), names)
	if err != nil {
		return err
	}
	l, err := ownsocket.Listen(o.listen)
	if err != nil {
		return err
	}
	served := make(chan error, 1)
	go func() { served <- p.Serve(l) }()
	fmt.Fprintf(u.Errw, "serving %s at unix://%s, %s\n", runtime.endpoint.Runtime, o.listen, output.Plural(len(o.all), "rule"))
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
	for _, r := range p.Rules() {
		fmt.Fprintf(u.Errw, "%s %s: matched %d, fired %d\n", r.Source, r.Method, r.Seen, r.Fired)
	}
	return err // Close has closed the listener, too
}

// follow has the proxy use the file of rules as it is now.
func (o *proxyOptions) follow(e *shell.Env, p *proxy.Proxy) {
	before := o.data
	err := o.load()
	switch {
	case bytes.Equal(before, o.data):
	case err != nil:
		fmt.Fprintf(e.Errw, "the rules stay as they are: %v\n", err)
	default:
		p.SetRules(rules.NewSet(o.all))
		fmt.Fprintf(e.Errw, "%s changed: %s\n", o.file, output.Plural(len(o.all), "rule"))
	}
}
