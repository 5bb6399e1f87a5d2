package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/internal/lab/recording"
	"github.com/podctl/podctl/internal/lab/sim"
	"github.com/podctl/podctl/internal/owners/control"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/report"
	"github.com/podctl/podctl/internal/pods/view"
	"github.com/podctl/podctl/internal/serve/daemon"
	"github.com/podctl/podctl/internal/sys/proc"
)

// Env is a command's only access to the outside world.
type Env struct {
	In   io.Reader
	Out  io.Writer
	Errw io.Writer
	// TTY: Out is a terminal, so that output may move the cursor.
	TTY bool
	// Size returns the terminal's size in columns and lines, 0 if unknown.
	Size func() (width, height int)
	// NoColor: the environment disables colors (https://no-color.org).
	NoColor bool
	// ReadOnly: the environment makes podctl read-only, whatever the flags.
	ReadOnly bool
	Now      func() time.Time
	// Simulate returns the runtime that "sim:" stands for, and what closes it.
	Simulate func() (*sim.Runtime, func())
	// Recording serves the recording that is looked at in place of a node; nil if none is: see
	// OpenRecording.
	Recording *recording.Server
	recorded  recordedHost
	// SimOutlives: that runtime outlives this process, as a real one does.
	SimOutlives bool
	// Listen creates the control socket of an instance; Dial connects to one.
	Listen func(dir, instance string) (net.Listener, error)
	Dial   control.Dialer
	// Procs are the processes of the machine.
	Procs proc.FS
	// Journal and KernelLog read the logs of the machine; nil where there are none.
	Journal   report.Journal
	KernelLog func() (view.KernelLog, error)
	// Notify sends a state to the service manager, see daemon.SDNotify; nil
	// without one.
	Notify func(state string) time.Duration
	// Interrupts delivers SIGINT and SIGTERM, each one separately.
	Interrupts <-chan os.Signal
	// Log goes to Errw; its level is set by -v.
	Log   *slog.Logger
	Level *slog.LevelVar
}

// NewEnv returns the process's own streams and terminal; signals come from interrupts.
func NewEnv(interrupts <-chan os.Signal) *Env {
	level := &slog.LevelVar{}
	level.Set(slog.LevelError)
	return &Env{
		In:       os.Stdin,
		Out:      os.Stdout,
		Errw:     os.Stderr,
		TTY:      term.IsTerminal(int(os.Stdout.Fd())),
		Size:     func() (int, int) { return TerminalSize(os.Stdout) },
		NoColor:  os.Getenv("NO_COLOR") != "",
		ReadOnly: readOnlyEnv(),
		Now:      time.Now,
		Simulate: func() (*sim.Runtime, func()) {
			runtime := sim.New(sim.Options{})
			return runtime, runtime.Close
		},
		Listen:     control.Listen,
		Procs:      proc.Default,
		Journal:    report.Journalctl,
		KernelLog:  view.ReadKernelLogWhole,
		Notify:     daemon.SDNotify,
		Interrupts: interrupts,
		Log:        slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level})),
		Level:      level,
	}
}

// TableWidth is the width to which tables are cut: the terminal's, 0 without one
// or if they are to be full.
func (e *Env) TableWidth(full bool) int {
	if full || !e.TTY {
		return 0
	}
	width, _ := e.Size()
	return width
}

// WarnOnce prints a warning on stderr unless it is equal to *last, which it updates; nil prints
// nothing. It is for lists that are printed repeatedly.
func (e *Env) WarnOnce(last *string, warning error) {
	text := ""
	if warning != nil {
		text = "warning: " + output.OneLine(pod.ErrorText(warning.Error()))
	}
	if text != "" && text != *last {
		fmt.Fprintln(e.Errw, text)
	}
	*last = text
}

// UntilInterrupted calls do with a context that the first interrupt cancels; the
// error is then ErrInterrupted, unless do failed for another reason.
func (e *Env) UntilInterrupted(ctx context.Context, do func(context.Context) error) error {
	ctx, interrupted := e.UntilInterrupt(ctx)
	err := do(ctx)
	if interrupted() && (err == nil || errors.Is(err, context.Canceled)) {
		return ErrInterrupted
	}
	return err
}

// UntilInterrupt returns a context that the first interrupt cancels. The
// caller has to call interrupted: it stops listening for interrupts and reports
// whether one came.
func (e *Env) UntilInterrupt(ctx context.Context) (_ context.Context, interrupted func() bool) {
	ctx, cancel := context.WithCancelCause(ctx)
	came := make(chan bool, 1)
	go func() {
		select {
		case <-e.Interrupts:
			cancel(ErrInterrupted)
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

// outputLimit is how much output waits for its reader, and flushTimeout how long
// the exit of a service does.
const (
	outputLimit  = 1 << 20
	flushTimeout = 400 * time.Millisecond
)

// Unblocked is an Env whose output never blocks, for commands that do something
// while they print: a journal that stalls, a pipe without a reader or Ctrl-S must
// not stall pods. What does not fit is dropped, and counted on stderr.
type Unblocked struct {
	*Env
	out, errw *output.Async
}

// Unblocked returns e with output that never blocks. At the end Flush or Finish has
// to be called.
func (e *Env) Unblocked() Unblocked {
	u := *e
	var errw *output.Async
	dropped := func(stream string) func(int) {
		return func(n int) {
			fmt.Fprintf(errw, "podctl: %s to %s dropped: it was not read\n", output.Plural(n, "write"), stream)
		}
	}
	errw = output.NewAsync(output.Raw(e.Errw), outputLimit, dropped("stderr"))
	out := output.NewAsync(output.Raw(e.Out), outputLimit, dropped("stdout"))
	u.Out, u.Errw = output.NewWriter(out), output.NewWriter(errw)
	u.Log = slog.New(slog.NewTextHandler(errw, &slog.HandlerOptions{Level: e.Level}))
	return Unblocked{&u, out, errw}
}

// Room waits until there is room for output that can be read again later, or ctx
// ends.
func (u Unblocked) Room(ctx context.Context) { u.out.Room(ctx) }

// Failed has the error of a write to Out once: its reader has gone away.
func (u Unblocked) Failed() <-chan error { return u.out.Failed() }

// Flush waits for the reader, but not long: the exit of a service.
func (u Unblocked) Flush() {
	var flushing sync.WaitGroup
	for _, to := range []*output.Async{u.out, u.errw} {
		flushing.Go(func() { to.Flush(flushTimeout) })
	}
	flushing.Wait()
}

// Finish prints the result of work that is done: nothing is dropped any more, and
// it waits for the reader until an interrupt, or until ctx ends.
func (u Unblocked) Finish(ctx context.Context, printResult func() error) error {
	return u.UntilInterrupted(ctx, func(ctx context.Context) error {
		u.out.Block(ctx)
		err := printResult()
		u.out.Idle(ctx)
		return err
	})
}

// settledPercent is the GC percentage of commands that go on running. They allocate so
// little that their memory counts for more than the time of the collector.
const settledPercent = 50

// Settle has garbage collected often, for commands that go on running: the
// package startup makes it rare, since most commands end soon. GOGC in the environment
// overrides both.
func Settle() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(settledPercent)
	}
	if os.Getenv("GOMEMLIMIT") == "" {
		debug.SetMemoryLimit(math.MaxInt64)
	}
}

// Sleep returns after a time, at once if it is negative, or when ctx ends, with its
// error.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Await returns what do returns, or the error of ctx if that ends first: do may block on input, or
// on a runtime that hangs.
func Await[T any](ctx context.Context, do func() (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	done := make(chan answer, 1)
	go func() {
		value, err := do()
		done <- answer{value, err}
	}()
	select {
	case a := <-done:
		return a.value, a.err
	case <-ctx.Done():
		var none T
		return none, ctx.Err()
	}
}
