package look

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/cri/stream"
	"github.com/podctl/podctl/internal/pods/target"
	"github.com/podctl/podctl/internal/sys/hint"
)

type execOptions struct {
	shell.Globals
	streamOptions
	query   target.Query
	command []string
	// all runs the command in every container of the query.
	all bool
	// limit is how long the command may take without streams, 0 for no limit.
	limit time.Duration
}

// withoutStreams is what crictl exec --sync is.
const withoutStreams = "podctl exec POD -- COMMAND, without --stdin and --tty"

// execCommand returns `podctl exec`.
func execCommand(e *shell.Env) *cmdline.Command {
	return &cmdline.Command{
		Name:      "exec",
		Usage:     "run a command in a container",
		Args:      cmdline.Args{Of: cmdline.Target, Rest: cmdline.Program, Patterns: true, Bare: target.IsID},
		Effect:    cmdline.Changes,
		FlagHints: map[string]string{"s": withoutStreams, "sync": withoutStreams},
		Description: "COMMAND follows --; after the beginning of a container's id it may follow without, as with\n" +
			"crictl: podctl exec ID COMMAND. The exit code is the command's. The output is printed as it comes;\n" +
			"with --all and --timeout when the command exits. Ctrl-C ends podctl, and the command may go on;\n" +
			"with --tty it goes to the command. --all runs the command in all running containers that match,\n" +
			"and exits with the highest exit code.",
		Flags: append(append(targetFlags(bySelector|byContainer), streamFlags()...),
			&cli.BoolFlag{Name: "all", Usage: "run the command in every container that matches, and prefix each line with its name"},
			&cli.DurationFlag{Name: "timeout", DefaultText: "none", Usage: "kill the command after a `DURATION`; not with --stdin or --tty"},
			&cli.StringFlag{Name: "cwd", DefaultText: "none", Usage: "refused: the CRI cannot set the working `DIR` of a command"},
			&cli.StringSliceFlag{Name: "env", Aliases: []string{"e"}, DefaultText: "none", Usage: "refused: the CRI cannot set a variable `NAME=VALUE` of a command"},
		),
		Action: func(c *cli.Context) error {
			o, err := readExec(c)
			if err != nil {
				return err
			}
			return e.UntilInterrupted(c.Context, func(ctx context.Context) error { return runExec(ctx, e, o) })
		},
	}
}

// streamFlags are the flags of streamOptions.
func streamFlags() []cli.Flag {
	return []cli.Flag{
		&cli.BoolFlag{Name: "stdin", Aliases: []string{"i"}, Usage: "connect standard input"},
		&cli.BoolFlag{Name: "tty", Aliases: []string{"t"}, Usage: "connect the terminal: keys, size and colors"},
		&cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "print only what the container writes"},
		&cli.StringFlag{Name: "detach-keys", Value: stream.DefaultDetachKeys, DefaultText: stream.DefaultDetachKeys, Usage: "with --stdin and --tty, leave the container to itself at these `KEYS`; empty for none"},
	}
}

func readStreams(c *cli.Context) (o streamOptions, err error) {
	o = streamOptions{stdin: c.Bool("stdin"), tty: c.Bool("tty"), quiet: c.Bool("quiet"), detachNames: c.String("detach-keys")}
	if o.detachKeys, err = stream.ParseKeys(c.String("detach-keys")); err != nil {
		return o, &shell.UsageError{Message: err.Error(), Advice: "--detach-keys " + stream.DefaultDetachKeys}
	}
	return o, nil
}

func readExec(c *cli.Context) (o execOptions, err error) {
	o = execOptions{Globals: shell.ReadGlobals(c), all: c.Bool("all"), limit: c.Duration("timeout")}
	// The global --timeout goes before the command.
	o.Timeout = shell.CallTimeout(c)
	words := c.Args().Slice()
	i := slices.Index(words, "--")
	if i < 0 && len(words) > 1 {
		return o, &shell.UsageError{Message: "the command has to follow --", Advice: fmt.Sprintf("podctl exec %s -- %s …", words[0], words[1])}
	}
	if i < 0 || i == len(words)-1 {
		return o, &shell.UsageError{Message: "no command given", Advice: "podctl exec POD -- COMMAND"}
	}
	words, o.command = words[:i], words[i+1:]
	if o.streamOptions, err = readStreams(c); err != nil {
		return o, err
	}
	switch {
	case c.IsSet("cwd"):
		return o, &shell.UsageError{Message: "--cwd: the CRI cannot set the working directory of a command", Advice: "podctl exec POD -- sh -c 'cd DIR && exec COMMAND'"}
	case c.IsSet("env"):
		return o, &shell.UsageError{Message: "--env: the CRI cannot set variables of a command", Advice: "podctl exec POD -- env NAME=VALUE COMMAND"}
	case o.limit < 0:
		return o, shell.Usagef("--timeout %s is negative", o.limit)
	case o.limit > 0 && (o.stdin || o.tty):
		return o, &shell.UsageError{Message: "--timeout does not go with --stdin and --tty", Advice: "podctl exec POD -- timeout SECONDS COMMAND"}
	case o.all && (o.stdin || o.tty):
		return o, shell.Usagef("--all does not go with --stdin and --tty")
	}
	o.query, err = needTarget(c, words)
	return o, err
}

func runExec(ctx context.Context, e *shell.Env, o execOptions) error {
	if o.all {
		return execAll(ctx, e, o)
	}
	s, t, err := openOne(ctx, e, o.Globals, o.query)
	if err != nil {
		return err
	}
	defer s.Close()
	if err := running(ctx, s, t, e.Now()); err != nil {
		return err
	}
	local := newLocalStreams(e, s, o.streamOptions)
	local.noteDefault(t)
	if o.limit > 0 {
		return execSyncAndPrint(ctx, e, s, t, o)
	}
	url, err := s.Client.Exec(ctx, t.Container.ID, o.command, cri.Streams{Stdin: local.o.stdin, Stdout: true, Stderr: true, TTY: local.o.tty})
	var stderr tail
	local.stderr = &stderr
	if err == nil {
		err = local.run(ctx, url, false)
	}
	_, notConnected := errors.AsType[*stream.NotConnectedError](err)
	switch {
	case (notConnected || errors.Is(err, cri.ErrUnsupported)) && !local.o.stdin && !local.o.tty:
		return execSyncAndPrint(ctx, e, s, t, o) // it was not run
	case errors.Is(err, stream.ErrDetached):
		local.note("detached from %s", t.DisplayName())
		return nil
	case errors.Is(err, stream.ErrLost):
		return hint.With(err, "the command may still run")
	case isFailedStart(err, stderr):
		return noCommand(t, o.command[0], cri.MissingCommand(string(stderr)))
	}
	return explainExec(t, o.command, err)
}

// isFailedStart reports whether a command was missing in the way of CRI-O, which
// passes the OCI runtime's output and exit code as the command's.
func isFailedStart(err error, stderr tail) bool {
	exit, ok := errors.AsType[*stream.ExitError](err)
	return ok && exit.Code == 255 && bytes.Contains(stderr, []byte("exec failed: unable to start container process")) && cri.MissingCommand(string(stderr)) != ""
}

// tail keeps the end of what is written to it.
type tail []byte

func (t *tail) Write(p []byte) (int, error) {
	const limit = 4096
	*t = append(*t, p[max(0, len(p)-limit):]...)
	*t = append((*t)[:0], (*t)[max(0, len(*t)-limit):]...)
	return len(p), nil
}
