package look

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/target"
)

// execParallel is how many commands exec --all runs at one time.
const execParallel = 16

// execAll runs a command in all running containers of the query. The error is
// that of the worst: what could not be run, else the highest exit code.
func execAll(ctx context.Context, e *shell.Env, o execOptions) error {
	s, err := shell.OpenSession(ctx, e, o.Globals)
	if err != nil {
		return err
	}
	defer s.Close()
	found, err := s.Containers(ctx, o.query)
	var run []target.Target
	for _, t := range found {
		if t.Container == nil || t.Container.State != pod.Running {
			if !o.quiet {
				fmt.Fprintf(e.Errw, "skipped %s: not running\n", t.DisplayName())
			}
			continue
		}
		run = append(run, t)
	}
	if len(run) == 0 {
		return errors.Join(err, errors.New("no container that matches is running"))
	}
	var printing sync.Mutex
	errs := make([]error, len(run))
	var worst shell.StatusError
	var group errgroup.Group
	group.SetLimit(execParallel)
	for i, t := range run {
		group.Go(func() error {
			r, err := execSync(ctx, s, t, o)
			printing.Lock()
			defer printing.Unlock()
			if err != nil {
				errs[i] = fmt.Errorf("%s: %w", t.DisplayName(), err)
				return nil
			}
			if code := (shell.StatusError{Code: int(r.ExitCode)}); worst.ExitCode() < code.ExitCode() {
				worst = code
			}
			return printLines(e, t.DisplayName(), r)
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	if err := errors.Join(append(errs, err)...); err != nil {
		return err
	}
	return exitCodeError(worst.Code)
}

// printLines prints the output with the container's name before each line.
func printLines(e *shell.Env, name string, r cri.ExecResult) error {
	for _, s := range []struct {
		w    io.Writer
		text []byte
	}{{e.Out, r.Stdout}, {e.Errw, r.Stderr}} {
		var b bytes.Buffer
		for line := range bytes.Lines(s.text) {
			fmt.Fprintf(&b, "%s | %s", output.OneLine(name), line)
			if !bytes.HasSuffix(line, []byte("\n")) {
				b.WriteByte('\n')
			}
		}
		if _, err := shell.ToUser(s.w).Write(b.Bytes()); err != nil {
			return err
		}
	}
	if r.Cut {
		fmt.Fprintf(e.Errw, "warning: %s: %s\n", name, cutMessage)
	}
	return nil
}
