package handler

import (
	"context"
	"errors"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
)

// ErrInvalid is the error of a hook that no kubelet runs: tcpSocket.
var ErrInvalid = errors.New("invalid handler")

// HookResult is what is to be said of a hook beside its error.
type HookResult struct {
	// Output is that of an exec, also where it failed. It may hold secrets
	// and belongs into no log and no event.
	Output []byte
	// Fallback is the address of a server that was to speak HTTPS and spoke
	// HTTP, to which the hook succeeded in turn; else "".
	Fallback string
}

// RunHook carries out one hook and returns once it has ended or ctx has. Its output and
// the text of its error have at most 10 KiB (pkg/kubelet/lifecycle/handlers.go).
func RunHook(ctx context.Context, x Execer, t Target, h *v1.LifecycleHandler) (HookResult, error) {
	switch {
	case h.Exec != nil:
		output, err := execHook(ctx, x, t, h.Exec.Command)
		return HookResult{Output: []byte(t.brief(string(output)))}, t.briefError(err)
	case h.HTTPGet != nil:
		fallback, err := httpHook(ctx, t, h.HTTPGet)
		return HookResult{Fallback: fallback}, t.briefError(err)
	case h.Sleep != nil:
		return HookResult{}, sleep(ctx, time.Duration(h.Sleep.Seconds)*time.Second)
	case h.TCPSocket != nil:
		return HookResult{}, fmt.Errorf("%w: tcpSocket is for probes only", ErrInvalid)
	default:
		return HookResult{}, fmt.Errorf("%w: no action is set", ErrInvalid)
	}
}

// PreStop returns the preStop hook of a container, nil if it has none or is nil.
func PreStop(c *v1.Container) *v1.LifecycleHandler {
	if c == nil || c.Lifecycle == nil {
		return nil
	}
	return c.Lifecycle.PreStop
}

// RunPreStop runs a preStop hook for at most grace and returns how long it took. A hook that
// takes longer runs until stop is called. done gets its result, without the error of one that
// was canceled.
func RunPreStop(ctx context.Context, x Execer, t Target, h *v1.LifecycleHandler, grace time.Duration, done func(HookResult, error)) (took time.Duration, stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	start, ended := time.Now(), make(chan struct{})
	go func() {
		defer close(ended)
		ran, err := RunHook(ctx, x, t, h)
		if ctx.Err() != nil {
			err = nil
		}
		done(ran, err)
	}()
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-ended:
	case <-timer.C:
	}
	return time.Since(start), func() { cancel(); <-ended }
}

func execHook(ctx context.Context, x Execer, t Target, command []string) ([]byte, error) {
	output, code, err := x.Exec(ctx, t.ContainerID, command, 0)
	switch {
	case err != nil:
		return output, fmt.Errorf("exec in container: %w", err)
	case code != 0:
		return output, fmt.Errorf("command exited with %d", code)
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
		return fmt.Errorf("container terminated before sleep hook finished: %w", context.Cause(ctx))
	}
}
