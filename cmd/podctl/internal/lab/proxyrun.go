package lab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/lab/proxy"
	"github.com/podctl/podctl/internal/lab/relay"
	"github.com/podctl/podctl/internal/lab/rules"
	"github.com/podctl/podctl/internal/lab/trace"
	"github.com/podctl/podctl/internal/owners/control"
	"github.com/podctl/podctl/internal/sys/ownsocket"
)

// rulesPoll is how often the file of rules is read.
const rulesPoll = time.Second

// runProxy serves until ctx ends.
func runProxy(ctx context.Context, e *shell.Env, o proxyOptions) (err error) {
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
		fmt.Fprintf(u.Out, "%s  %s  %s  rule %d, %s (firing %d)\n", output.Clock(e.Now()), output.OneLine(callerText(c.Caller)), what, f.Number, output.OneLine(f.Source), f.Count)
	}}, rules.NewSet(o.inject), &names)
	if err != nil {
		return err
	}
	defer p.Close()
	if _, err := p.Follow(o.rules); err != nil {
		return err
	}
	l, err := ownsocket.Listen(o.listen)
	if err != nil {
		return err
	}
	asked, err := ownsocket.Listen(proxy.RulesSocket(o.listen))
	if err != nil {
		return errors.Join(err, l.Close())
	}
	api := control.Serve(asked, p.RulesHandler(func(c rules.Change, n int) {
		unfollowed := ""
		if c.RemoveAll && o.file != "" {
			unfollowed = "; " + o.file + " is not followed any more"
		}
		fmt.Fprintf(u.Errw, "rules changed: %s%s\n", output.Plural(n, "rule"), unfollowed)
	}), nil)
	defer func() { err = errors.Join(err, api.Close()) }()
	served := make(chan error, 1)
	go func() { served <- p.Serve(l) }()
	fmt.Fprintf(u.Errw, "serving %s at unix://%s, %s\n", runtime.endpoint.Runtime, o.listen, output.Plural(len(p.Rules()), "rule"))
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
	followed := false
	if err == nil {
		followed, err = p.Follow(o.rules)
	}
	switch {
	case err != nil:
		fmt.Fprintf(e.Errw, "the rules stay as they are: %v\n", err)
	case followed:
		fmt.Fprintf(e.Errw, "%s changed: %s\n", o.file, output.Plural(len(o.rules), "rule"))
	}
}
