package look

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/cri/stream"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/target"
	"github.com/podctl/podctl/internal/sys/hint"
)

type forwardOptions struct {
	shell.Globals
	query     target.Query
	ports     []stream.Port
	addresses []string
	quiet     bool
}

// portForwardCommand returns `podctl port-forward`.
func portForwardCommand(e *shell.Env) *cmdline.Command {
	return &cmdline.Command{
		Name:    "port-forward",
		Usage:   "forward local TCP ports to a pod",
		Args:    cmdline.Args{Of: cmdline.Pod, Rest: cmdline.Ports},
		Effect:  cmdline.Changes,
		OnNodes: cmdline.NotOnNodes,
		Description: "REMOTE is a number or the name of a container's port; :REMOTE picks a free local port. Prints\n" +
			"the addresses and forwards until Ctrl-C. A connection that fails is reported and ends alone.\n" +
			"When the pod is replaced, new connections go to its successor.",
		Flags: append(targetFlags(byContainer),
			&cli.StringSliceFlag{Name: "address", DefaultText: "localhost", Usage: "listen at this `ADDRESS`; 0.0.0.0 and :: are all of the host; several by repetition or commas"},
			&cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "do not print addresses and replaced pods"},
		),
		Action: func(c *cli.Context) error {
			o, err := readForward(c)
			if err != nil {
				return err
			}
			return e.UntilInterrupted(c.Context, func(ctx context.Context) error { return runForward(ctx, e, o) })
		},
	}
}

func readForward(c *cli.Context) (o forwardOptions, err error) {
	o = forwardOptions{Globals: shell.ReadGlobals(c), quiet: c.Bool("quiet")}
	words := c.Args().Slice()
	if len(words) > 2 && pod.IsPodKind(words[0]) {
		words = words[1:]
	}
	if len(words) < 2 {
		return o, &shell.UsageError{Message: "a pod and a port are needed", Advice: "podctl port-forward POD 8080:80"}
	}
	for _, text := range words[1:] {
		port, err := stream.ParsePort(text)
		if err != nil {
			return o, &shell.UsageError{Message: err.Error(), Advice: hint.Of(err)}
		}
		o.ports = append(o.ports, port)
	}
	for _, list := range c.StringSlice("address") {
		o.addresses = append(o.addresses, strings.Split(list, ",")...)
	}
	if len(o.addresses) == 0 {
		o.addresses = []string{"localhost"}
	}
	for _, a := range o.addresses {
		if a != "localhost" && net.ParseIP(a) == nil {
			return o, &shell.UsageError{Message: fmt.Sprintf("--address %q is not an IP address or localhost", a), Advice: "--address 0.0.0.0 listens at all addresses of the host"}
		}
	}
	o.query, err = needTarget(c, words[:1])
	return o, err
}

func runForward(ctx context.Context, e *shell.Env, o forwardOptions) error {
	s, t, err := openOne(ctx, e, o.Globals, o.query)
	if err != nil {
		return err
	}
	defer s.Close()
	f := &podForward{e: e, o: o, s: s}
	if err := f.use(ctx, t); err != nil {
		return err
	}
	listeners, err := f.listen(ctx)
	if err != nil {
		return err
	}
	shell.Settle()
	forwarder := &stream.Forwarder{URL: f.url, Failed: f.failed}
	return forwarder.Serve(ctx, listeners)
}

// podForward forwards to the pod that a query names, whichever it is at the time.
type podForward struct {
	e *shell.Env
	o forwardOptions
	s *target.Session

	mu sync.Mutex // of all below, and of the session's listing
	// sandbox is the pod's ready sandbox.
	sandbox string
	target  target.Target
	// named are the numbers of the named ports of the pod.
	named map[string]uint16
}

// use makes new connections go to the target, with mu held or before Serve.
func (f *podForward) use(ctx context.Context, t target.Target) (err error) {
	sandbox := t.Pod.ReadySandboxID()
	if sandbox == "" {
		return fmt.Errorf("%s has no ready sandbox", t.Pod.DisplayName())
	}
	if t.Container == nil {
		return &target.NoContainerError{Pod: t.Pod}
	}
	named := map[string]uint16{}
	if slices.ContainsFunc(f.o.ports, func(p stream.Port) bool { return p.Name != "" }) {
		if named, err = f.readNames(ctx, t, sandbox); err != nil {
			return err
		}
	}
	f.target, f.sandbox, f.named = t, sandbox, named
	return nil
}

// listen opens the local ports and prints their addresses.
func (f *podForward) listen(ctx context.Context) ([]*stream.Listener, error) {
	var listeners []*stream.Listener
	for _, p := range f.o.ports {
		remote := p.Remote
		if p.Name != "" {
			remote = f.named[p.Name]
		}
		local := p.Local
		if local == 0 && !p.Any {
			local = remote
		}
		open, err := stream.Listen(ctx, f.o.addresses, local)
		if err != nil {
			for _, l := range listeners {
				_ = l.Close()
			}
			return nil, err
		}
		for _, l := range open {
			listeners = append(listeners, &stream.Listener{Listener: l, Remote: func(context.Context) (uint16, error) { return f.remote(p), nil }})
			if !f.o.quiet {
				fmt.Fprintf(f.e.Out, "%s -> %s port %s\n", l.Addr(), f.target.Pod.DisplayName(), portText(p, remote))
			}
		}
	}
	return listeners, nil
}

// remote is the number of a port in the pod as it is now.
func (f *podForward) remote(p stream.Port) uint16 {
	if p.Name == "" {
		return p.Remote
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.named[p.Name]
}

// replaceWait is how long a connection waits for the successor of a pod.
const replaceWait = 5 * time.Second

// url asks for a connection to the pod: to its successor if it was replaced.
func (f *podForward) url(ctx context.Context, port uint16) (string, error) {
	f.mu.Lock()
	sandbox := f.sandbox
	f.mu.Unlock()
	if !f.ready(ctx, sandbox) {
		var err error
		if sandbox, err = f.successor(ctx, sandbox); err != nil {
			return "", err
		}
	}
	return f.s.Client.PortForward(ctx, sandbox, port)
}

// ready reports whether a sandbox is ready. CRI-O returns a URL for one that is not.
func (f *podForward) ready(ctx context.Context, sandbox string) bool {
	ready, err := f.s.Client.SandboxReady(ctx, sandbox)
	return err == nil && ready
}

// successor finds the sandbox that has replaced another one, and says so.
func (f *podForward) successor(ctx context.Context, old string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, replaceWait)
	defer cancel()
	for {
		f.mu.Lock()
		if f.sandbox != old { // another connection has found it
			defer f.mu.Unlock()
			return f.sandbox, nil
		}
		t, err := f.s.Find(ctx, f.o.query)
		if err == nil {
			err = f.use(ctx, t)
		}
		sandbox := f.sandbox
		f.mu.Unlock()
		if err == nil && sandbox != old {
			if !f.o.quiet {
				fmt.Fprintf(f.e.Errw, "%s was replaced: new connections go to its successor\n", f.target.Pod.DisplayName())
			}
			return sandbox, nil
		}
		select {
		case <-ctx.Done():
			if err == nil {
				err = errors.New("the sandbox does not answer")
			}
			return "", err
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// failed reports a connection that failed.
func (f *podForward) failed(l *stream.Listener, err error) {
	fmt.Fprintf(f.e.Errw, "connection at %s failed: %v\n", l.Addr(), err)
}
