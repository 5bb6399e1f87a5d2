package attach

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/podctl/podctl/internal/lab/relay"
	"github.com/podctl/podctl/internal/sys/hint"
	"github.com/podctl/podctl/internal/sys/plural"
)

// Frontend is a socket that has the place of a runtime's. It ends early when the runtime, its
// socket or the watchdog is not as it was, and when no descriptor is left to accept a caller
// with, who would wait.
type Frontend struct {
	net.Listener
	say      func(format string, args ...any)
	runtime  *Runtime
	swap     *Swap
	watchdog *Watchdog
	failed   chan error
	// unwatch ends the watch over the runtime and its socket, and reports whether it has
	// ended the trace.
	unwatch func() bool
}

// Open prepares to take the place of the socket at path. watchdog returns the command that calls
// RunWatchdog for the swap.
func Open(path string, watchdog func(*Swap) (*exec.Cmd, error), say func(format string, args ...any)) (f *Frontend, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("attach to %s: %w", path, err)
		}
	}()
	f = &Frontend{say: say, failed: make(chan error, 3), unwatch: func() bool { return false }}
	if f.runtime, err = Examine(path); err != nil {
		return nil, err
	}
	swap, l, err := f.runtime.Create()
	if err != nil {
		return nil, errors.Join(err, f.runtime.Close())
	}
	f.swap, f.Listener = swap, l
	cmd, err := watchdog(swap)
	if err == nil {
		f.watchdog, err = StartWatchdog(cmd)
	}
	if err != nil {
		return nil, errors.Join(err, l.Close(), swap.Undo(), f.runtime.Close())
	}
	return f, nil
}

// Path is that of the socket.
func (f *Frontend) Path() string { return f.swap.Path }

// Failed receives why the trace has to end early.
func (f *Frontend) Failed() <-chan error { return f.failed }

// Dial connects to the runtime.
func (f *Frontend) Dial(ctx context.Context) (net.Conn, error) {
	conn, err := f.swap.Dial(ctx)
	f.reportExhausted(err)
	return conn, err
}

// Accept implements net.Listener.
func (f *Frontend) Accept() (net.Conn, error) {
	conn, err := f.Listener.Accept()
	f.reportExhausted(err)
	return conn, err
}

// reportExhausted ends the trace after an error for want of descriptors.
func (f *Frontend) reportExhausted(err error) {
	if !errors.Is(err, syscall.EMFILE) && !errors.Is(err, syscall.ENFILE) {
		return
	}
	select {
	case f.failed <- hint.Errorf("raise ulimit -n, and run podctl trace --attach again", "the trace has ended: %w", err):
	default: // it ends already
	}
}

// Begin says what it does, and does it.
func (f *Frontend) Begin(ctx context.Context) error {
	f.say("attaching to %s (pid %d) at %s; %s", f.runtime.Comm, f.runtime.PID, f.swap.Path, callersText(f.runtime.Callers))
	f.say("  the runtime's socket is %s meanwhile; undone at the end, and by pid %d if podctl is killed; if both are: %s",
		f.swap.Parked, f.watchdog.PID(), f.swap.Manual())
	if err := f.swap.Place(); err != nil {
		return fmt.Errorf("attach to %s: %w", f.swap.Path, err)
	}
	watch, unwatch := context.WithCancel(ctx)
	watched := make(chan error, 1)
	f.unwatch = func() bool { unwatch(); return <-watched != nil }
	go func() {
		err := f.runtime.Watch(watch, f.swap)
		watched <- err
		if err != nil {
			f.failed <- hint.Errorf("run podctl trace --attach again", "the trace has ended: %w", err)
		}
	}()
	go func() {
		select {
		case <-f.watchdog.Lost():
			f.failed <- errors.New("the trace has ended: its watchdog has died or hangs, and nothing would undo it")
		case <-watch.Done():
		}
	}()
	asked, busy, err := f.runtime.Redirect(ctx)
	if err != nil {
		return fmt.Errorf("attach to %s: %w", f.swap.Path, err)
	}
	f.say("attached: %s asked to reconnect%s", plural.Of(asked, "connection"), busyText(busy))
	if busy > 0 {
		go f.redirectBusy(watch)
	}
	return nil
}

const (
	// redirectPause is how long a busy connection is left alone.
	redirectPause = time.Second
	// backlogTime is how long callers are let in that had connected before the runtime got
	// its place back.
	backlogTime = 100 * time.Millisecond
)

// redirectBusy asks the callers of busy connections once these are quiet.
func (f *Frontend) redirectBusy(ctx context.Context) {
	for busy := 1; busy > 0; {
		select {
		case <-time.After(redirectPause):
		case <-ctx.Done():
			return
		}
		var asked int
		var err error
		if asked, busy, err = f.runtime.Redirect(ctx); err != nil || ctx.Err() != nil {
			return
		}
		if asked > 0 {
			f.say("%s more asked to reconnect%s", plural.Of(asked, "connection"), busyText(busy))
		}
	}
}

// callersText is "kubelet 701 (2 connections) and podctl 812 are asked to reconnect".
func callersText(callers []Caller) string {
	if len(callers) == 0 {
		return "it has no callers now"
	}
	var names []string
	for _, c := range callers {
		name := relay.Caller{PID: c.PID, Comm: c.Comm}.String()
		if c.Connections > 1 {
			name += fmt.Sprintf(" (%d connections)", c.Connections)
		}
		names = append(names, name)
	}
	return strings.Join(names, ", ") + ": asked to reconnect, by GOAWAY"
}

func busyText(busy int) string {
	if busy == 0 {
		return ""
	}
	return fmt.Sprintf(", %d not yet: there was no quiet moment", busy)
}

// End gives the runtime its place back, and closes the listener.
func (f *Frontend) End() error {
	failedBefore := f.unwatch()
	err := f.swap.Undo()
	if err == nil {
		err = f.watchdog.Dismiss()
	}
	if !failedBefore { // it may have exited since the last look
		err = errors.Join(err, f.runtime.Exited())
	}
	time.Sleep(backlogTime)
	return errors.Join(err, f.Listener.Close(), f.runtime.Close())
}
