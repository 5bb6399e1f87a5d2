package lab

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/lab/attach"
	"github.com/podctl/podctl/internal/lab/relay"
	"github.com/podctl/podctl/internal/lab/trace"
	"github.com/podctl/podctl/internal/sys/hint"
)

// watchdogName is the hidden command that undoes what --attach did.
const watchdogName = "__trace-watchdog"

// watchdogCommand is started by `podctl trace --attach`.
func watchdogCommand(e *shell.Env) *cmdline.Command {
	return &cmdline.Command{
		Name: watchdogName, Hidden: true, Usage: "give a runtime its socket back when podctl trace dies",
		Args:    cmdline.Args{Of: cmdline.File, Many: true},
		Effect:  cmdline.Changes,
		OnNodes: cmdline.NotOnNodes,
		Action: func(c *cli.Context) error {
			in, isFile := e.In.(*os.File)
			if c.NArg() != 2 || !isFile {
				return shell.Usagef("it is for podctl trace --attach")
			}
			s, err := attach.OpenSwap(c.Args().Get(0), c.Args().Get(1))
			if err != nil {
				return err
			}
			return attach.RunWatchdog(s, in, e.Out)
		},
	}
}

// attached is a trace that has the place of the runtime's socket.
type attached struct {
	env      *shell.Env
	runtime  *attach.Runtime
	swap     *attach.Swap
	watchdog *attach.Watchdog
	// unwatch ends the watch over the runtime and its socket, and reports whether it has
	// asked the trace to step aside.
	unwatch func() bool
}

// openAttached prepares to take the place of the runtime's socket, and says so.
func openAttached(e *shell.Env, runtime *tracedRuntime) (frontend, error) {
	path, isUnix := strings.CutPrefix(runtime.endpoint.Runtime, "unix://")
	if !isUnix {
		return frontend{}, shell.Usagef("--attach needs a runtime at a unix socket")
	}
	a := &attached{env: e, unwatch: func() bool { return false }}
	var err error
	if a.runtime, err = attach.Examine(path); err != nil {
		return frontend{}, fmt.Errorf("attach to %s: %w", path, err)
	}
	swap, l, err := a.runtime.Create()
	if err != nil {
		return frontend{}, fmt.Errorf("attach to %s: %w", path, errors.Join(err, a.runtime.Close()))
	}
	a.swap = swap
	if a.watchdog, err = startWatchdog(swap); err != nil {
		return frontend{}, fmt.Errorf("attach to %s: %w", path, errors.Join(err, l.Close(), swap.Undo(), a.runtime.Close()))
	}
	aside := make(chan error, 3)
	runtime.dial = func(ctx context.Context) (net.Conn, error) {
		conn, err := swap.Dial(ctx)
		reportExhausted(aside, err)
		return conn, err
	}
	return frontend{
		listener: attachedListener{l, aside}, stepAside: aside,
		begin: func(ctx context.Context) error { return a.begin(ctx, aside) },
		end: func(ctx context.Context, s *session, r *relay.Relay) error {
			return a.end(ctx, s, r, l.Close)
		},
	}, nil
}

// attachedListener is a listener whose trace steps aside when no descriptor is left to accept a
// caller with, who would wait.
type attachedListener struct {
	net.Listener
	aside chan<- error
}

// Accept implements net.Listener.
func (l attachedListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	reportExhausted(l.aside, err)
	return conn, err
}

// reportExhausted asks the trace to step aside after an error for want of descriptors.
func reportExhausted(aside chan<- error, err error) {
	if !errors.Is(err, syscall.EMFILE) && !errors.Is(err, syscall.ENFILE) {
		return
	}
	select {
	case aside <- hint.Errorf("raise ulimit -n, and run podctl trace --attach again", "the trace has ended: %w", err):
	default: // it steps aside already
	}
}

func startWatchdog(swap *attach.Swap) (*attach.Watchdog, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, watchdogName, swap.Path, swap.Parked)
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "PODCTL_") })
	cmd.Stderr = os.Stderr
	return attach.StartWatchdog(cmd)
}

// begin says what it does, and does it.
func (a *attached) begin(ctx context.Context, aside chan<- error) error {
	fmt.Fprintf(a.env.Errw, "attaching to %s (pid %d) at %s; %s\n", a.runtime.Comm, a.runtime.PID, a.swap.Path, callersText(a.runtime.Callers))
	fmt.Fprintf(a.env.Errw, "  the runtime's socket is %s meanwhile; undone at the end, and by pid %d if podctl is killed; if both are: %s\n",
		a.swap.Parked, a.watchdog.PID(), a.swap.Manual())
	if err := a.swap.Place(); err != nil {
		return fmt.Errorf("attach to %s: %w", a.swap.Path, err)
	}
	watch, unwatch := context.WithCancel(ctx)
	watched := make(chan error, 1)
	a.unwatch = func() bool { unwatch(); return <-watched != nil }
	go func() {
		err := a.runtime.Watch(watch, a.swap)
		watched <- err
		if err != nil {
			aside <- hint.Errorf("run podctl trace --attach again", "the trace has ended: %w", err)
		}
	}()
	go func() {
		select {
		case <-a.watchdog.Lost():
			aside <- errors.New("the trace has ended: its watchdog has died or hangs, and nothing would undo it")
		case <-watch.Done():
		}
	}()
	asked, busy, err := a.runtime.Redirect(ctx)
	if err != nil {
		return fmt.Errorf("attach to %s: %w", a.swap.Path, err)
	}
	fmt.Fprintf(a.env.Errw, "attached: %s asked to reconnect%s\n", output.Plural(asked, "connection"), busyText(busy))
	if busy > 0 {
		go a.redirectBusy(watch)
	}
	return nil
}

// redirectPause is how long a busy connection is left alone.
const redirectPause = time.Second

// redirectBusy asks the callers of busy connections once these are quiet.
func (a *attached) redirectBusy(ctx context.Context) {
	for busy := 1; busy > 0 && shell.Sleep(ctx, redirectPause) == nil; {
		var asked int
		var err error
		if asked, busy, err = a.runtime.Redirect(ctx); err != nil || ctx.Err() != nil {
			return
		}
		if asked > 0 {
			fmt.Fprintf(a.env.Errw, "%s more asked to reconnect%s\n", output.Plural(asked, "connection"), busyText(busy))
		}
	}
}

// callersText is "kubelet 701 (2 connections) and podctl 812 are asked to reconnect".
func callersText(callers []attach.Caller) string {
	if len(callers) == 0 {
		return "it has no callers now"
	}
	var names []string
	for _, c := range callers {
		name := callerText(relay.Caller{PID: c.PID, Comm: c.Comm})
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

const (
	// backlogTime is how long callers are let in that had connected before the runtime got
	// its place back.
	backlogTime = 100 * time.Millisecond
	// leaveTime is how long calls get that begin while the callers are asked to leave.
	leaveTime = 300 * time.Millisecond
	leavePoll = 50 * time.Millisecond
)

// end gives the runtime its place back, and waits for the calls in flight.
func (a *attached) end(ctx context.Context, s *session, r *relay.Relay, closeListener func() error) error {
	steppedAside := a.unwatch()
	err := a.swap.Undo()
	if err == nil {
		err = a.watchdog.Dismiss()
	}
	if !steppedAside { // it may have exited since the last look
		err = errors.Join(err, a.runtime.Exited())
	}
	time.Sleep(backlogTime)
	err = errors.Join(err, closeListener(), a.runtime.Close())
	r.GoAway()
	began, told := a.env.Now(), false
	for r.Connections() > 0 {
		flush(r)
		unary := s.unaryInFlight()
		if len(unary) == 0 && a.env.Now().Sub(began) >= leaveTime {
			break
		}
		if !told && a.env.Now().Sub(began) >= time.Second {
			told = true
			fmt.Fprintf(a.env.Errw, "detached; waiting for %s in flight, %s for %s already: another interrupt breaks them off\n",
				output.Plural(len(unary), "call"), unary[0].Method, output.Age(unary[0].Took))
		}
		select {
		case <-time.After(leavePoll):
		case <-a.env.Interrupts:
			return err
		case <-ctx.Done():
			return err
		}
	}
	return err
}

// unaryInFlight returns the calls in flight that end by themselves, the oldest first.
func (s *session) unaryInFlight() []*trace.Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(s.tracer.InFlight(s.env.Now()), func(e *trace.Entry) bool { return e.Stream })
}
