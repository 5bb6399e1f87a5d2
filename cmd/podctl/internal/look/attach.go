package look

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/cri/stream"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/target"
	"github.com/podctl/podctl/internal/sys/hint"
)

type attachOptions struct {
	shell.Globals
	streamOptions
	query target.Query
}

// attachCommand returns `podctl attach`.
func attachCommand(e *shell.Env) *cmdline.Command {
	return &cmdline.Command{
		Name:   "attach",
		Usage:  "connect to the first process of a running container",
		Args:   cmdline.Args{Of: cmdline.Target},
		Effect: cmdline.Changes,
		Description: "Prints what the container writes from now on; podctl logs has what it wrote before. Exits\n" +
			"with the container's exit code when it exits. The detach keys, or Ctrl-C without --tty, leave\n" +
			"it running.",
		Flags: append(targetFlags(byContainer), streamFlags()...),
		Action: func(c *cli.Context) error {
			o := attachOptions{Globals: shell.ReadGlobals(c)}
			var err error
			if o.streamOptions, err = readStreams(c); err != nil {
				return err
			}
			if o.query, err = needTarget(c, c.Args().Slice()); err != nil {
				return err
			}
			return e.UntilInterrupted(c.Context, func(ctx context.Context) error { return runAttach(ctx, e, o) })
		},
	}
}

func runAttach(ctx context.Context, e *shell.Env, o attachOptions) error {
	s, t, err := openOne(ctx, e, o.Globals, o.query)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := running(ctx, s, t, e.Now()); err != nil {
		return err
	}
	input, err := s.Client.ContainerInput(ctx, t.Container.ID)
	if err != nil {
		return err
	}
	if input.Known && o.stdin && !input.Stdin {
		return hint.Errorf(fmt.Sprintf("podctl attach %s without --stdin; stdin: true in the manifest opens it", t.CLIName()),
			"container %s has no standard input", t.DisplayName())
	}
	if input.Known && o.tty && !input.TTY {
		fmt.Fprintf(e.Errw, "warning: --tty has no effect: container %s has no terminal\n", t.DisplayName())
		o.tty = false
	}
	local := newLocalStreams(e, s, o.streamOptions)
	local.noteDefault(t)
	url, err := s.Client.Attach(ctx, t.Container.ID, cri.Streams{
		Stdin: local.o.stdin, Stdout: true, Stderr: true, TTY: local.o.tty || input.TTY,
	})
	if err != nil {
		return err
	}
	if err := local.announce(ctx, t); err != nil {
		return err
	}
	local.containerTTY, local.inputDelay = input.TTY, attachDelay
	// At the end of the input containerd would detach the output, although the
	// container's own input stays open.
	local.keepInput = input.Known && !input.Once
	return local.ended(ctx, t, local.run(ctx, url, true))
}

// attachDelay is how long input waits after the streams are open. The runtimes
// connect the input first: a container that answers at once would not be heard.
const attachDelay = 200 * time.Millisecond

// announce says what is attached to, and where the output before is.
func (l *localStreams) announce(ctx context.Context, t target.Target) error {
	status, err := l.s.Client.ContainerStatus(ctx, t.Container.ID)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("attached to %s", t.DisplayName())
	if !status.StartedAt.IsZero() {
		text += fmt.Sprintf(", started %s ago", output.Age(l.e.Now().Sub(status.StartedAt)))
	}
	text += fmt.Sprintf("; earlier output: podctl logs %s", t.CLIName())
	if l.o.tty && l.o.stdin && len(l.o.detachKeys) > 0 {
		text += "; detach: " + l.o.detachNames
	}
	l.note("%s", text)
	return nil
}

// exitWait is how long the exit code of a container is waited for whose output has
// ended.
const exitWait = 5 * time.Second

// ended says why the session has ended; the exit code of a container that has
// exited is podctl's.
func (l *localStreams) ended(ctx context.Context, t target.Target, err error) error {
	switch {
	case errors.Is(err, stream.ErrDetached):
		l.note("detached from %s; the container keeps running", t.DisplayName())
		return nil
	case errors.Is(err, stream.ErrLost):
		return hint.With(err, "the container may still run")
	case err != nil:
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, exitWait)
	defer cancel()
	for {
		status, err := l.s.Client.ContainerStatus(ctx, t.Container.ID)
		switch {
		case errors.Is(err, cri.ErrNotFound):
			return fmt.Errorf("%s was removed: its exit code is unknown", t.DisplayName())
		case ctx.Err() != nil && errors.Is(context.Cause(ctx), context.DeadlineExceeded):
			l.note("%s has closed its output and keeps running", t.DisplayName())
			return nil
		case err != nil:
			return err
		case status.State == pod.Exited:
			l.note("%s exited with code %d", t.DisplayName(), status.ExitCode)
			return exitCodeError(int(status.ExitCode))
		}
		select {
		case <-ctx.Done():
		case <-time.After(50 * time.Millisecond):
		}
	}
}
