package handler

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
)

// ErrUnsupported is the error of a handler that podctl does not run.
var ErrUnsupported = errors.New("handler is not supported")

// Execer runs a command in a container and answers with what it wrote, stdout
// first, and its exit code. A timeout of 0 is none.
type Execer interface {
	Exec(ctx context.Context, containerID string, command []string, timeout time.Duration) (output []byte, exitCode int32, err error)
}

// Target is what the action is done to.
type Target struct {
	ContainerID string
}

// ExitError is a command that ran and exited with another code than 0.
type ExitError struct{ Code int32 }

func (e *ExitError) Error() string { return fmt.Sprintf("command exited with %d", e.Code) }

// Run carries out one handler and returns once it has ended or ctx has. The
// output is that of an exec, also where it failed; it may hold secrets and
// belongs into no log (pkg/kubelet/lifecycle/handlers.go).
func Run(ctx context.Context, x Execer, t Target, h *v1.LifecycleHandler) (output []byte, err error) {
	switch {
	case h.Exec != nil:
		return exec(ctx, x, t, h.Exec.Command)
	case h.Sleep != nil:
		return nil, sleep(ctx, time.Duration(h.Sleep.Seconds)*time.Second)
	default:
		return nil, fmt.Errorf("run %s handler: %w", kind(h), ErrUnsupported)
	}
}

func exec(ctx context.Context, x Execer, t Target, command []string) ([]byte, error) {
	output, code, err := x.Exec(ctx, t.ContainerID, command, 0)
	switch {
	case err != nil:
		return output, fmt.Errorf("exec in container: %w", err)
	case code != 0:
		return output, &ExitError{Code: code}
	}
	return output, nil
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("sleep: %w", context.Cause(ctx))
	}
}

func kind(h *v1.LifecycleHandler) string {
	switch {
	case h.HTTPGet != nil:
		return "httpGet"
	case h.TCPSocket != nil:
		return "tcpSocket"
	default:
		return "empty"
	}
}
