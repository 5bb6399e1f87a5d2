package tracing

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/podctl/podctl/internal/lab/relay"
	"github.com/podctl/podctl/internal/lab/trace"
	"github.com/podctl/podctl/internal/sys/plural"
)

// Printer prints a trace. Its errors are those of the output.
type Printer interface {
	Begin() error
	Entry(*trace.Entry) error
	Missed(relay.Missed) error
	// Close ends the output.
	Close() error
}

// Options configure a trace.
type Options struct {
	Filter  trace.Filter
	Secrets bool // are not masked
	// InFlight is the age from which a call in flight is printed; 0 for never.
	InFlight time.Duration
	// For is how long the trace lasts; 0 until an interrupt, or the end of Command.
	For     time.Duration
	Command []string
	// In, Out and Err are the streams of Command.
	In         io.Reader
	Out, Err   io.Writer
	Interrupts <-chan os.Signal
	Printer    Printer
	// Say prints a line about the trace.
	Say func(format string, args ...any)
	Now func() time.Time
	Log *slog.Logger
}

// session is one trace: what a relay observes, printed. It is safe for concurrent use.
type session struct {
	*Options

	mu     sync.Mutex
	tracer trace.Tracer
	// err is the first error of the output; failed is closed with it.
	err    error
	failed chan struct{}
	// stopped: calls that end now end because the trace does.
	stopped bool
}

var _ relay.Observer = (*session)(nil)

// Run traces until the command ends, an interrupt, or the time is over. Frontend is called once
// the names of the pods are known.
func Run(ctx context.Context, o Options, runtime *Runtime, frontend func() (Frontend, error)) error {
	s := &session{Options: &o, tracer: trace.Tracer{Secrets: o.Secrets}, failed: make(chan struct{})}
	runtime.LearnPods(ctx, o.Log, &s.tracer.Names)
	in, err := frontend()
	if err != nil {
		return errors.Join(err, o.Printer.Close())
	}
	s.keepError(o.Printer.Begin())
	r := relay.New(relay.Options{Dial: runtime.Dial, Observer: s, CallerOf: relay.PeerOf, Now: o.Now})
	go r.Serve(in)
	if err = in.Begin(ctx); err == nil {
		err = s.wait(ctx, in, runtime)
	}
	closed := in.End()
	if in.Failed() != nil {
		s.drain(ctx, r)
	}
	flush(r)
	s.stop()
	r.Close()
	return cmp.Or(err, errors.Join(closed, s.err, o.Printer.Close()))
}

// keepError keeps the first error of the output.
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
	if s.Filter.Selects(e) {
		s.print(e)
	}
}

// Missed implements relay.Observer.
func (s *session) Missed(m relay.Missed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.stopped {
		s.keepError(s.Printer.Missed(m))
	}
}

func (s *session) print(entries ...*trace.Entry) {
	for _, e := range entries {
		s.keepError(s.Printer.Entry(e))
	}
}

// inFlightPoll is how often calls in flight are examined.
const inFlightPoll = 500 * time.Millisecond

// wait returns when the trace is to end: with the command, an interrupt, the time, an error
// of the output, or what the frontend says.
func (s *session) wait(ctx context.Context, in Frontend, runtime *Runtime) error {
	var timeout <-chan time.Time
	if s.For > 0 {
		timer := time.NewTimer(s.For)
		defer timer.Stop()
		timeout = timer.C
	}
	var child *child
	if len(s.Command) > 0 {
		var err error
		if child, err = startChild(s.Options, runtime.environment(in.Path())); err != nil {
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
		case signal := <-s.Interrupts:
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
		case err := <-in.Failed():
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
	if s.InFlight > 0 {
		s.print(s.selected(s.tracer.Overdue(s.Now(), s.InFlight))...)
	}
}

func (s *session) selected(entries []*trace.Entry) []*trace.Entry {
	return slices.DeleteFunc(entries, func(e *trace.Entry) bool { return !s.Filter.Selects(e) })
}

// stop prints the calls in flight. Calls that end later are not printed.
func (s *session) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = true
	s.print(s.selected(s.tracer.InFlight(s.Now()))...)
}

// flushTimeout bounds how long the end waits for calls that have passed to be printed.
const flushTimeout = 500 * time.Millisecond

func flush(r *relay.Relay) {
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	r.Flush(ctx)
}

const (
	// drainTime is how long calls are waited for that begin while the callers are asked to disconnect.
	drainTime = 300 * time.Millisecond
	drainPoll = 50 * time.Millisecond
)

// drain asks the callers to disconnect, and waits for the calls in flight that end by themselves.
func (s *session) drain(ctx context.Context, r *relay.Relay) {
	r.GoAway()
	began, reported := s.Now(), false
	for r.Connections() > 0 {
		flush(r)
		unary := s.unaryInFlight()
		if len(unary) == 0 && s.Now().Sub(began) >= drainTime {
			return
		}
		if !reported && s.Now().Sub(began) >= time.Second {
			reported = true
			s.Say("detached; waiting for %s in flight, %s for %s already: another interrupt breaks them off",
				plural.Of(len(unary), "call"), unary[0].Method, duration.HumanDuration(unary[0].Took))
		}
		select {
		case <-time.After(drainPoll):
		case <-s.Interrupts:
			return
		case <-ctx.Done():
			return
		}
	}
}

// unaryInFlight returns the calls in flight that end by themselves, the oldest first.
func (s *session) unaryInFlight() []*trace.Entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(s.tracer.InFlight(s.Now()), func(e *trace.Entry) bool { return e.Stream })
}
