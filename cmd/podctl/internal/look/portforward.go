package look

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"

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
	s, err := shell.ConnectSession(ctx, e, o.Globals)
	if err != nil {
		return err
	}
	defer s.Close()
	shell.Settle()
	say := func(w io.Writer, format string, args ...any) {
		if !o.quiet {
			fmt.Fprintf(w, format+"\n", args...)
		}
	}
	f := &target.Forward{
		Session: s, Query: o.query, Ports: o.ports, Addresses: o.addresses,
		Listening: func(local net.Addr, t target.Target, port string) {
			say(e.Out, "%s -> %s port %s", local, t.Pod.DisplayName(), port)
		},
		Replaced: func(t target.Target) {
			say(e.Errw, "%s was replaced: new connections go to its successor", t.Pod.DisplayName())
		},
		Failed: func(l *stream.Listener, err error) {
			fmt.Fprintf(e.Errw, "connection at %s failed: %v\n", l.Addr(), err)
		},
	}
	return f.Run(ctx)
}
