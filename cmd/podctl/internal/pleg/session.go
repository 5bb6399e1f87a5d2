package pleg

import (
	"context"
	"errors"
	"fmt"
	"strings"
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
