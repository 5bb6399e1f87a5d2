package look

import (
	"bytes"
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

// execResult is what a command has written, once it has exited.
type execResult struct {
	cri.ExecResult
	// cut: the runtime may have dropped the end of the output.
	cut bool
}

// execSync runs a command without streams.
func (s *session) execSync(ctx context.Context, t target.Target, o execOptions) (execResult, error) {
	r, err := s.Client.ExecSync(ctx, t.Container.ID, o.command, o.limit)
	switch {
	case errors.Is(err, cri.ErrTooLarge):
		return execResult{}, hint.Errorf(cutHint, "%s: the command has exited, but its output is larger than the 16 MiB that the runtime returns", t.DisplayName())
	case errors.Is(err, cri.ErrDeadline) && o.limit > 0:
		return execResult{}, fmt.Errorf("%s: the command was killed: it took longer than %s", t.DisplayName(), o.limit)
	case err != nil:
		return execResult{}, explainExec(t, o.command, err)
	}
	return execResult{r, isCut(r.Stdout, r.Stderr)}, nil
}

// execSyncAndPrint runs a command by ExecSync and prints its output once it has exited.
func (s *session) execSyncAndPrint(ctx context.Context, e *shell.Env, t target.Target, o execOptions) error {
	result, err := s.execSync(ctx, t, o)
	if err != nil {
		return err
	}
	return result.print(e)
}

// logPrefix is the length of what CRI-O stores before each line of a command: a
// time, a stream and a tag.
const logPrefix = len("2006-01-02T15:04:05.000000000+07:00 stdout F ")

// logChunk is how much of a long line CRI-O stores with one prefix.
const logChunk = 8192

// isCut reports whether CRI-O may have cut the output: what it stores of it,
// with a prefix for each line, has nearly reached the limit.
func isCut(stdout, stderr []byte) bool {
	size := 0
	for _, out := range [][]byte{stdout, stderr} {
		size += len(out) + (bytes.Count(out, []byte("\n"))+len(out)/logChunk)*logPrefix
	}
	return size >= cri.ExecSyncLimit-1<<16
}

// print prints the output and returns the exit code as an error.
func (r execResult) print(e *shell.Env) error {
	if _, err := shell.ToUser(e.Out).Write(r.Stdout); err != nil {
		return err
	}
	if _, err := shell.ToUser(e.Errw).Write(r.Stderr); err != nil {
		return err
	}
	if r.cut {
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
