package shell

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/node/cgroup"
	"github.com/podctl/podctl/internal/pods/target"
	"github.com/podctl/podctl/internal/pods/view"
	"github.com/podctl/podctl/internal/sys/hint"
)

// Locate returns the command line with the pods in place that its words name by a Service, or by a property,
// such as pid:1234: of each the id of the container or sandbox, so that no other pod
// can be meant.
func Locate(e *Env, c *cli.Context, command *cmdline.Command) (*cli.Context, error) {
	words := c.Args().Slice()
	targets := command.Args.Targets(words)
	through := words[:targets]
	var err error
	if !command.Args.Services {
		if through, err = throughServices(ReadGlobals(c), command.Args, through); err != nil {
			return c, err
		}
	}
	if !slices.Equal(through, words[:targets]) {
		words = slices.Concat(through, words[targets:])
		if c, err = withArgs(c, words); err != nil {
			return nil, err
		}
		targets = len(through)
	}
	var named []int
	for i, word := range words[:targets] {
		if _, ok := target.ParseProperty(word); ok {
			named = append(named, i)
		}
	}
	if len(named) == 0 {
		return c, nil
	}
	err = e.UntilInterrupted(c.Context, func(ctx context.Context) error {
		s, err := ConnectSession(ctx, e, ReadGlobals(c))
		if err != nil {
			return err
		}
		defer s.Close()
		if err := s.ListAlone(ctx); err != nil {
			return err
		}
		l := &target.Locator{Pods: s.Pods, Client: s.Client, Procs: e.Procs, Cgroups: cgroup.Mounts, Server: cri.ServerOf(s.Client.Endpoint()).PID}
		if e.Recording != nil {
			l.HostUnknown = view.ErrNotRecorded
		}
		for _, i := range slices.Backward(named) {
			ids, err := locate(ctx, l, command.Args, words[i])
			if invalid, ok := errors.AsType[*target.InvalidError](err); ok {
				return &UsageError{Message: invalid.Error(), Advice: hint.Of(err)}
			}
			if err != nil {
				return err
			}
			words = slices.Replace(words, i, i+1, ids...)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return withArgs(c, words)
}

// withArgs returns a command line with other arguments.
func withArgs(c *cli.Context, args []string) (*cli.Context, error) {
	set := flag.NewFlagSet(c.Command.Name, flag.ContinueOnError)
	if err := set.Parse(append([]string{"--"}, args...)); err != nil {
		return nil, err
	}
	other := cli.NewContext(c.App, set, c) // flags are looked up in its parent
	other.Command = c.Command
	return other, nil
}

// locate returns the ids for one word.
func locate(ctx context.Context, l *target.Locator, args cmdline.Args, word string) ([]string, error) {
	text, path := word, ""
	if args.Of == cmdline.SourceDestination {
		if text, path = cutPlace(word); path == "" {
			return []string{word}, nil // the path of a pod that has the name of a property
		}
	}
	p, _ := target.ParseProperty(text)
	found, err := l.Find(ctx, p)
	if err != nil {
		return nil, err
	}
	var words, names []string
	for _, t := range found {
		id := t.Pod.CLINameByID()
		switch {
		case args.ByName:
			id = t.Pod.CLIName()
		case t.Container != nil && args.Of != cmdline.Pod:
			id = t.Container.ID
		}
		if !slices.Contains(words, id+path) {
			words, names = append(words, id+path), append(names, t.CLIName())
		}
	}
	if several := args.Many && args.Patterns; len(words) > 1 && !several {
		return nil, fmt.Errorf("%q is ambiguous: %s", text, strings.Join(names, ", "))
	}
	return words, nil
}

// cutPlace cuts KIND:VALUE:PATH before the last colon. An IPv6 address is in brackets.
func cutPlace(word string) (property, path string) {
	kind, rest, _ := strings.Cut(word, ":")
	from := strings.Index(rest, "]") + 1
	if i := strings.Index(rest[from:], ":"); i > 0 || i == 0 && from > 0 {
		return kind + ":" + rest[:from+i], rest[from+i:]
	}
	return word, ""
}
