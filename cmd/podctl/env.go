package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"runtime/debug"
	"time"

	"golang.org/x/term"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
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
	// simOutlives: that runtime outlives this process, as a real one does.
	simOutlives bool
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

// tableWidth is the width to which tables are cut: the terminal's, 0 without one
// or if they are to be full.
func (e *env) tableWidth(full bool) int {
	if full || !e.tty {
		return 0
	}
	width, _ := e.size()
	return width
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

// outputLimit is how much output of an agent waits for its reader, and
// flushTimeout how long its exit does.
const (
	outputLimit  = 1 << 20
	flushTimeout = time.Second
)

// unblocked returns an env whose output never blocks, for a service: a journal
// that stalls or a pipe without a reader must not stall pods. flush has to be
// called at the end.
func (e *env) unblocked() (_ *env, flush func()) {
	u := *e
	var errw *output.Async
	dropped := func(stream string) func(int) {
		return func(n int) {
			fmt.Fprintf(errw, "podctl: %s to %s dropped: it was not read\n", output.Plural(n, "write"), stream)
		}
	}
	errw = output.NewAsync(output.Raw(e.errw), outputLimit, dropped("stderr"))
	out := output.NewAsync(output.Raw(e.out), outputLimit, dropped("stdout"))
	u.out, u.errw = output.NewWriter(out), output.NewWriter(errw)
	u.log = slog.New(slog.NewTextHandler(errw, &slog.HandlerOptions{Level: e.level}))
	return &u, func() { out.Flush(flushTimeout); errw.Flush(flushTimeout) }
}

// settle restores normal garbage collection, for commands that go on running:
// main delays it, since most commands end soon.
func settle() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(100)
	}
}
