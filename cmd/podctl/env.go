package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"time"

	"golang.org/x/term"

	"github.com/podctl/podctl/internal/control"
	"github.com/podctl/podctl/internal/cri/sim"
	"github.com/podctl/podctl/internal/daemon"
)

// env is a command's only access to the outside world.
type env struct {
	in   io.Reader
	out  io.Writer
	errw io.Writer
	// tty: out is a terminal, so that output may move the cursor.
	tty bool
	// size returns the terminal's size in columns and lines, 0 if unknown.
	size func() (width, height int)
	// noColor: the environment disables colors (https://no-color.org).
	noColor bool
	now     func() time.Time
	// simulate returns the runtime that "sim:" stands for, and what closes it.
	simulate func() (*sim.Runtime, func())
	// listen creates the control socket of an instance; dial connects to one.
	listen func(dir, instance string) (net.Listener, error)
	dial   control.Dialer
	// notify sends a state to the service manager, see daemon.SDNotify; nil
	// without one.
	notify func(state string) time.Duration
	// interrupts delivers SIGINT and SIGTERM, each one separately.
	interrupts <-chan os.Signal
	// log goes to errw; its level is set by -v.
	log   *slog.Logger
	level *slog.LevelVar
}

func newEnv(interrupts <-chan os.Signal) *env {
	level := &slog.LevelVar{}
	level.Set(slog.LevelError)
	return &env{
		in:   os.Stdin,
		out:  os.Stdout,
		errw: os.Stderr,
		tty:  term.IsTerminal(int(os.Stdout.Fd())),
		size: func() (int, int) {
			w, h, err := term.GetSize(int(os.Stdout.Fd()))
			if err != nil {
				return 0, 0
			}
			return w, h
		},
		noColor: os.Getenv("NO_COLOR") != "",
		now:     time.Now,
		simulate: func() (*sim.Runtime, func()) {
			runtime := sim.New(sim.Options{})
			return runtime, runtime.Close
		},
		listen:     control.Listen,
		notify:     daemon.SDNotify,
		interrupts: interrupts,
		log:        slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level})),
		level:      level,
	}
}

// untilInterrupted calls do with a context that the first interrupt cancels; the
// error is then errInterrupted, unless do failed for another reason.
func (e *env) untilInterrupted(ctx context.Context, do func(context.Context) error) error {
	ctx, interrupted := e.untilInterrupt(ctx)
	err := do(ctx)
	if interrupted() && (err == nil || errors.Is(err, context.Canceled)) {
		return errInterrupted
	}
	return err
}

// untilInterrupt returns a context that the first interrupt cancels. The
// caller has to call interrupted: it stops listening for interrupts and reports
// whether one came.
func (e *env) untilInterrupt(ctx context.Context) (_ context.Context, interrupted func() bool) {
	ctx, cancel := context.WithCancelCause(ctx)
	came := make(chan bool, 1)
	go func() {
		select {
		case <-e.interrupts:
			cancel(errInterrupted)
			came <- true
		case <-ctx.Done():
			came <- false
		}
	}()
	return ctx, func() bool {
		cancel(nil)
		return <-came
	}
}
