package plugin

import (
	"context"
	"errors"
	"fmt"
	"os"

	"golang.org/x/term"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/cri/stream"
	"github.com/podctl/podctl/internal/fleet"
	"github.com/podctl/podctl/internal/fleet/cluster"
)

// stream runs the command on one target with the streams of this process. The exit code is
// the command's.
func (r *run) stream(ctx context.Context, target fleet.Target) error {
	if target.Failure != nil {
		return shell.Unreachable(fmt.Errorf("no answer from %s: %s", target.Node, target.Failure.Message))
	}
	if r.streams {
		shell.Settle()
	}
	ctx, cancel := r.within(ctx, 0)
	defer cancel()
	x := r.exec(target, shell.ToUser(r.env.Out), r.env.Errw)
	if r.stdin {
		x.Stdin = r.env.In
	}
	var err error
	if terminal := shell.Terminal(r.env.In); r.tty && r.stdin && terminal != nil {
		err = r.onTerminal(ctx, x, terminal)
	} else {
		err = r.client.Exec(ctx, x)
	}
	if exit, ok := errors.AsType[*stream.ExitError](err); ok {
		return &shell.StatusError{Code: exit.Code}
	}
	if err != nil {
		return shell.Unreachable(fmt.Errorf("node %s: %w", target.Node, err))
	}
	return nil
}

// onTerminal passes every key, the size and what is printed between this terminal and the
// command.
func (r *run) onTerminal(ctx context.Context, x cluster.Exec, terminal *os.File) error {
	x.TTY, x.Stdout, x.Sizes = true, output.Raw(r.env.Out), stream.NewSizes()
	defer shell.FollowSize(x.Sizes, func() (columns, lines int) { return shell.TerminalSize(terminal) })()
	before, err := term.MakeRaw(int(terminal.Fd()))
	if err != nil {
		return fmt.Errorf("set the terminal's mode: %w", err)
	}
	defer func() { _ = term.Restore(int(terminal.Fd()), before) }() // it may be gone
	return r.client.Exec(ctx, x)
}
