package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/lab/relay"
	"github.com/podctl/podctl/internal/lab/trace"
)

// session is one run of `podctl trace`: what a relay observes, printed. It is safe for
// concurrent use.
type session struct {
	env   *shell.Env
	opts  traceOptions
	began time.Time

	mu      sync.Mutex
	tracer  trace.Tracer
	summary trace.Summary
	printer tracePrinter
	// err is the first error of the output; failed is closed with it.
	err    error
	failed chan struct{}
	// stopped: calls that end now end because the trace does.
	stopped bool
}

var _ relay.Observer = (*session)(nil)

// newSession returns a session that has printed nothing yet.
func newSession(e *shell.Env, o traceOptions) (*session, error) {
	printer, err := newTracePrinter(e, o)
	if err != nil {
		return nil, err
	}
	return &session{env: e, opts: o, began: e.Now(), tracer: trace.Tracer{Secrets: o.secrets}, printer: printer, failed: make(chan struct{})}, nil
}

// keepError notes an error of the output.
func (s *session) keepError(err error) {
	if err != nil && s.err == nil {
		s.err = err
		close(s.failed)
	}
}

// Began implements relay.Observer.
func (s *session) Began(c *relay.Call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tracer.Began(c)
}

// Message implements relay.Observer.
func (s *session) Message(c *relay.Call, from relay.Side, m relay.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tracer.Message(c, from, m)
}

// Ended implements relay.Observer.
func (s *session) Ended(c *relay.Call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.stopped {
		return
	}
	e := s.tracer.Ended(c)
	if s.opts.filter.Selects(e) {
		s.summary.Add(e)
		s.print(e)
	}
}

// Missed implements relay.Observer.
func (s *session) Missed(m relay.Missed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.stopped {
		s.keepError(s.printer.missed(m))
	}
}

func (s *session) print(e *trace.Entry) {
	if !s.opts.quiet {
		s.keepError(s.printer.entry(e))
	}
}

// inFlightPoll is how often calls in flight are examined.
const inFlightPoll = 500 * time.Millisecond

// wait returns when the trace is to end: with the command, an interrupt, --for, an error
// of the output, or what aside says.
func (s *session) wait(ctx context.Context, e *shell.Env, in frontend) error {
	var timeout <-chan time.Time
	if s.opts.last > 0 {
		timer := time.NewTimer(s.opts.last)
		defer timer.Stop()
		timeout = timer.C
	}
	var child *child
	if len(s.opts.command) > 0 {
		var err error
		if child, err = startChild(e, s.opts.command, environment(in.socket, in.image)); err != nil {
			return err
		}
	}
	poll := time.NewTicker(inFlightPoll)
	defer poll.Stop()
	for {
		select {
		case <-poll.C:
			s.showOverdue()
		case <-child.ended():
			return child.err
		case signal := <-s.env.Interrupts:
			if child == nil {
				return nil
			}
			child.interrupt(signal)
		case <-timeout:
			child.interrupt(os.Interrupt)
			if child == nil {
				return nil
			}
			timeout = nil
		case err := <-in.stepAside:
			return err
		case <-s.failed:
			child.kill()
			return nil
		case <-ctx.Done():
			child.kill()
			return ctx.Err()
		}
	}
}

// showOverdue prints calls that are in flight for long.
func (s *session) showOverdue() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.opts.inFlight == 0 {
		return
	}
	for _, e := range s.tracer.Overdue(s.env.Now(), s.opts.inFlight) {
		if s.opts.filter.Selects(e) {
			s.print(e)
		}
	}
}

// stop prints the end: calls in flight, and with --summary the summary. Calls that end
// later are not printed.
func (s *session) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = true
	now := s.env.Now()
	var inFlight []*trace.Entry
	for _, e := range s.tracer.InFlight(now) {
		if s.opts.filter.Selects(e) {
			inFlight = append(inFlight, e)
		}
	}
	if s.opts.summary {
		s.keepError(s.printer.summary(now, summaryOf(&s.summary, inFlight, now.Sub(s.began))))
		return
	}
	for _, e := range inFlight {
		s.print(e)
	}
}

// close ends the output, and returns its first error.
func (s *session) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return errors.Join(s.err, s.printer.close())
}

// child is the command that is traced; nil is none.
type child struct {
	cmd *exec.Cmd
	// done is closed once it has exited, and err is set: nil, or an error with its exit code.
	done chan struct{}
	err  error
	// onTerminal: the terminal sends it the user's Ctrl-C.
	onTerminal  bool
	interrupted bool
}

// startChild starts a command with the streams of podctl.
func startChild(e *shell.Env, command, environment []string) (*child, error) {
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = environment, e.In, output.Raw(e.Out), output.Raw(e.Errw)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", command[0], errors.Unwrap(err))
	}
	in, isFile := e.In.(*os.File)
	c := &child{cmd: cmd, done: make(chan struct{}), onTerminal: isFile && term.IsTerminal(int(in.Fd()))}
	go func() {
		defer close(c.done)
		err := cmd.Wait()
		exit, exited := errors.AsType[*exec.ExitError](err)
		status, _ := cmd.ProcessState.Sys().(syscall.WaitStatus)
		switch {
		case exited && status.Signaled():
			c.err = &shell.StatusError{Code: signaled + int(status.Signal())}
		case exited:
			c.err = &shell.StatusError{Code: exit.ExitCode()}
		default:
			c.err = err
		}
	}()
	return c, nil
}

// signaled is added to the number of the signal that ended a process, as shells do.
const signaled = 128

// ended is closed once the command has exited.
func (c *child) ended() <-chan struct{} {
	if c == nil {
		return nil
	}
	return c.done
}

// interrupt passes a signal on, the second time SIGKILL.
func (c *child) interrupt(signal os.Signal) {
	switch {
	case c == nil:
	case c.interrupted:
		c.kill()
	default:
		c.interrupted = true
		if signal != os.Interrupt || !c.onTerminal {
			_ = c.cmd.Process.Signal(signal) // it may have exited
		}
	}
}

// kill ends the command, and waits for that.
func (c *child) kill() {
	if c != nil {
		_ = c.cmd.Process.Kill() // it may have exited
		<-c.done
	}
}
