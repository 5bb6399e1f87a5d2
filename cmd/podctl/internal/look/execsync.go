package look

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/cri/stream"
	"github.com/podctl/podctl/internal/pods/target"
	"github.com/podctl/podctl/internal/sys/hint"
)

// execSync runs a command without streams.
func execSync(ctx context.Context, s *target.Session, t target.Target, o execOptions) (cri.ExecResult, error) {
	r, err := s.Client.ExecSync(ctx, t.Container.ID, o.command, o.limit)
	switch {
	case errors.Is(err, cri.ErrTooLarge):
		err = hint.Errorf(cutHint, "%s: the command has exited, but its output is larger than the 16 MiB that the runtime returns", t.DisplayName())
	case errors.Is(err, cri.ErrDeadline) && o.limit > 0:
		err = fmt.Errorf("%s: the command was killed: it took longer than %s", t.DisplayName(), o.limit)
	default:
		err = explainExec(t, o.command, err)
	}
	return r, err
}

// execSyncAndPrint runs a command without streams, prints its output once it has exited, and
// returns the exit code as an error.
func execSyncAndPrint(ctx context.Context, e *shell.Env, s *target.Session, t target.Target, o execOptions) error {
	r, err := execSync(ctx, s, t, o)
	if err != nil {
		return err
	}
	if _, err := shell.ToUser(e.Out).Write(r.Stdout); err != nil {
		return err
	}
	if _, err := shell.ToUser(e.Errw).Write(r.Stderr); err != nil {
		return err
	}
	if r.Cut {
		fmt.Fprintf(e.Errw, "warning: %s\n  hint: %s\n", cutMessage, cutHint)
	}
	return exitCodeError(int(r.ExitCode))
}

const (
	cutMessage = "the runtime returns at most 16 MiB of output: the end may be missing"
	cutHint    = "podctl exec without --all and --timeout streams it"
)

// exitCodeError makes podctl exit as the command did.
func exitCodeError(code int) error {
	if code == 0 {
		return nil
	}
	return &shell.StatusError{Code: code}
}

// explainExec says what an error means to a user who ran a command.
func explainExec(t target.Target, command []string, err error) error {
	if exit, ok := errors.AsType[*stream.ExitError](err); ok {
		return exitCodeError(exit.Code)
	}
	if err == nil {
		return nil
	}
	if reason := cri.MissingCommand(err.Error()); reason != "" {
		return noCommand(t, command[0], reason)
	}
	if strings.Contains(err.Error(), "exec in a paused container") { // the OCI runtime's words
		return hint.With(err, fmt.Sprintf("podctl describe %s names the cgroup that freezes it, and the command that thaws it", t.Pod.CLIName()))
	}
	return err
}

// noCommand returns the error for a command that the container does not have, with the way to
// see which ones it has: its shell, or a container beside it if that is what is missing.
func noCommand(t target.Target, command, reason string) error {
	advice := fmt.Sprintf("podctl exec %s -- sh, if the image has a shell", t.CLIName())
	if slices.Contains([]string{"sh", "ash", "bash", "dash"}, path.Base(command)) {
		advice = fmt.Sprintf("podctl debug %s -it --image busybox --target %s brings a shell along", t.Pod.CLIName(), output.OneLine(t.Container.Name))
	}
	return hint.Errorf(advice, "%s has no command %q: %s", t.DisplayName(), command, reason)
}
