package pleg

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/pleg"
	"github.com/podctl/podctl/internal/pod"
)

// sessionOptions configure the PLEG of a command.
type sessionOptions struct {
	source eventSource
	// period between two relists, 0 for the kubelet's second.
	period time.Duration
	// timeout of each CRI call that reads, 0 for the user's --timeout.
	timeout time.Duration
	// callDeadline and threshold are those of pleg.Options.
	callDeadline, threshold time.Duration
	// observer observes the PLEG, operations each finished CRI call, and calls
	// each CRI call in flight; each may be nil.
	observer   pleg.Observer
	operations cri.Observer
	calls      cri.CallWatcher
	// wrap wraps the runtime; may be nil.
	wrap func(pleg.Runtime) pleg.Runtime
}

// session is a PLEG on a runtime: Subscribe, then start.
type session struct {
	*pleg.PLEG
	client *cri.Client
	// version is the runtime's when podctl connected.
	version cri.Version

	stop   func() // closes the connection
	cancel context.CancelFunc
	ended  chan struct{}
}

// openUntilInterrupt is like open but is canceled by the first interrupt.
func openUntilInterrupt(ctx context.Context, e *shell.Env, g shell.Globals, o sessionOptions) (*session, error) {
	return (&joining{env: e}).join(ctx, g, o)
}

// open connects to the runtime and makes a PLEG, which does nothing before
// start. The caller closes the session. With --source events the error is an
// unsharedError if podctl must not subscribe to this runtime.
func open(ctx context.Context, e *shell.Env, g shell.Globals, o sessionOptions) (*session, error) {
	if o.timeout > 0 {
		g.Timeout = o.timeout
	}
	client, stop, err := shell.ConnectWatched(ctx, e, g, o.calls, o.operations)
	if err != nil {
		return nil, err
	}
	s := &session{client: client, stop: stop}
	if s.version, err = client.Version(ctx); err != nil {
		s.Close()
		return nil, err
	}
	if o.source == sourceEvents && !s.version.BroadcastsEvents() {
		s.Close()
		return nil, fmt.Errorf("--source events: %w", &unsharedError{s.version})
	}
	var runtime pleg.Runtime = politeRuntime{client, o.source}
	if o.wrap != nil {
		runtime = o.wrap(runtime)
	}
	s.PLEG = pleg.New(runtime, pleg.Options{
		Period: o.period, CallDeadline: o.callDeadline, Threshold: o.threshold,
		HintsOnly: o.source == sourceEvents,
		// politeRuntime does not subscribe to any other.
		Broadcasts: func(context.Context) bool { return true },
		Log:        e.Log, Observer: o.observer, Now: e.Now,
	})
	return s, nil
}

// start runs the PLEG until Close.
func (s *session) start(ctx context.Context) {
	shell.Settle()
	ctx, s.cancel = context.WithCancel(ctx)
	s.ended = make(chan struct{})
	go func() {
		defer close(s.ended)
		_ = s.Run(ctx) // fails only if it runs already
	}()
}

// Close stops the PLEG and closes the connection.
func (s *session) Close() {
	if s.cancel != nil {
		s.cancel()
		<-s.ended
	}
	s.stop()
}

// politeRuntime never takes events from another subscriber.
type politeRuntime struct {
	*cri.Client
	source eventSource
}

// errNoSubscription is why there are no hints with --source relist.
var errNoSubscription = fmt.Errorf("--source relist: %w", errors.ErrUnsupported)

// Notices subscribes unless the user forbids it, or the runtime delivers each
// event to one subscriber only. The version is read each time, because the
// runtime may have been upgraded.
func (r politeRuntime) Notices(ctx context.Context, opened func(), each func(pod.Notice)) error {
	if r.source == sourceRelist {
		return errNoSubscription
	}
	v, err := r.Version(ctx)
	if err != nil {
		return err
	}
	if !v.BroadcastsEvents() {
		return &unsharedError{v}
	}
	return r.Client.Notices(ctx, opened, each)
}

// unsharedError reports that podctl does not subscribe to the runtime's events.
type unsharedError struct{ version cri.Version }

func (e *unsharedError) Error() string {
	switch number := strings.TrimPrefix(e.version.Version, "v"); {
	case strings.HasPrefix(number, "1.7"):
		return fmt.Sprintf("%s delivers each event to one subscriber only: podctl would take events from the kubelet", e.version)
	case strings.HasPrefix(number, "1."):
		return fmt.Sprintf("%s has no events", e.version)
	}
	return fmt.Sprintf("%s: it is not known whether every subscriber receives each event", e.version)
}

func (*unsharedError) Hint() string { return "relists work with every runtime: --source relist" }

func (*unsharedError) Unwrap() error { return errors.ErrUnsupported }

// joining is a command with a PLEG that has not reached its runtime yet, or has.
type joining struct {
	env *shell.Env
	// retries: a runtime that does not answer is tried again. An observer serves health
	// meanwhile: to restart it does not repair a runtime.
	retries bool

	mu      sync.Mutex
	session *session // nil before it has joined
	failure error    // of the last attempt
}

// joinPause is the time between two attempts to reach the runtime.
const joinPause = 2 * time.Second

// errJoining is why an observer is not ready before its first attempt has ended.
var errJoining = errors.New("not connected to the runtime yet")

// healthy is the readiness of the PLEG.
func (j *joining) healthy() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.session != nil {
		return j.session.Healthy()
	}
	return cmp.Or(j.failure, errJoining)
}

func (j *joining) set(session *session, err error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.session, j.failure = session, err
}

// join is like open but is canceled by the first interrupt. With retries a runtime that does not
// answer is tried again until then. The session is nil if there is an error.
func (j *joining) join(ctx context.Context, g shell.Globals, o sessionOptions) (session *session, err error) {
	err = j.env.UntilInterrupted(ctx, func(ctx context.Context) error {
		for warned := false; ; warned = true {
			session, err = open(ctx, j.env, g, o)
			j.set(session, err)
			if err == nil || !j.retries || shell.ExitCode(err) != shell.ExitUnreachable {
				return err
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if !warned {
				shell.PrintError(j.env.Errw, fmt.Errorf("the runtime is tried again every %s: %w", joinPause, err))
			}
			if err := shell.Sleep(ctx, joinPause); err != nil {
				return err
			}
		}
	})
	if err != nil && session != nil { // interrupted when it had joined
		j.set(nil, err)
		session.Close()
		return nil, err
	}
	return session, err
}
