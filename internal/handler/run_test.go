package handler_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/handler"
)

type execFunc func(ctx context.Context, id string, command []string, timeout time.Duration) ([]byte, int32, error)

func (f execFunc) Exec(ctx context.Context, id string, command []string, timeout time.Duration) ([]byte, int32, error) {
	return f(ctx, id, command, timeout)
}

func execHandler(command ...string) *v1.LifecycleHandler {
	return &v1.LifecycleHandler{Exec: &v1.ExecAction{Command: command}}
}

func TestExecRunsTheCommandInTheContainerWithoutTimeout(t *testing.T) {
	var id string
	var command []string
	timeout := time.Duration(-1)
	x := execFunc(func(_ context.Context, i string, c []string, d time.Duration) ([]byte, int32, error) {
		id, command, timeout = i, c, d
		return []byte("out"), 0, nil
	})
	out, err := handler.Run(t.Context(), x, handler.Target{ContainerID: "c1"}, execHandler("sh", "-c", "true"))
	if err != nil || string(out) != "out" {
		t.Errorf("Run = %q, %v; want out and no error", out, err)
	}
	if id != "c1" || timeout != 0 || !slices.Equal(command, []string{"sh", "-c", "true"}) {
		t.Errorf("exec of %q in %q with timeout %v", command, id, timeout)
	}
}

func TestExecFailsOnAnotherExitCodeThanZero(t *testing.T) {
	x := execFunc(func(context.Context, string, []string, time.Duration) ([]byte, int32, error) {
		return []byte("oh"), 3, nil
	})
	out, err := handler.Run(t.Context(), x, handler.Target{}, execHandler("false"))
	var exit *handler.ExitError
	if !errors.As(err, &exit) || exit.Code != 3 {
		t.Errorf("error %v; want an ExitError of code 3", err)
	}
	if string(out) != "oh" {
		t.Errorf("output %q; want it also of a failure", out)
	}
}

func TestExecFailsWhereTheRuntimeDoes(t *testing.T) {
	gone := errors.New("gone")
	x := execFunc(func(context.Context, string, []string, time.Duration) ([]byte, int32, error) { return nil, 0, gone })
	if _, err := handler.Run(t.Context(), x, handler.Target{}, execHandler("true")); !errors.Is(err, gone) {
		t.Errorf("error %v; want the runtime's", err)
	}
}

func TestSleepWaitsAndEndsWithItsContext(t *testing.T) {
	h := &v1.LifecycleHandler{Sleep: &v1.SleepAction{Seconds: 5}}
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		if _, err := handler.Run(t.Context(), nil, handler.Target{}, h); err != nil {
			t.Errorf("Run: %v", err)
		}
		if took := time.Since(start); took != 5*time.Second {
			t.Errorf("slept %v; want 5s", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		start = time.Now()
		if _, err := handler.Run(ctx, nil, handler.Target{}, h); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Run with an ending context: %v; want its error", err)
		}
		if took := time.Since(start); took != 2*time.Second {
			t.Errorf("slept %v; want 2s", took)
		}
	})
}

func TestOtherHandlersAreNamedAsUnsupported(t *testing.T) {
	for want, h := range map[string]*v1.LifecycleHandler{
		"run httpGet handler: handler is not supported":   {HTTPGet: &v1.HTTPGetAction{}},
		"run tcpSocket handler: handler is not supported": {TCPSocket: &v1.TCPSocketAction{}},
		"run empty handler: handler is not supported":     {},
	} {
		_, err := handler.Run(t.Context(), nil, handler.Target{}, h)
		if !errors.Is(err, handler.ErrUnsupported) || err.Error() != want {
			t.Errorf("error %v; want %s", err, want)
		}
	}
}
