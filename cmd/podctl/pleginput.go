package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/pleg"
	"github.com/podctl/podctl/internal/pod"
)

// plegSource is where a command wants its events from.
type plegSource string

const (
	// sourceAuto: relists, and the runtime's events where that disturbs nobody.
	sourceAuto plegSource = "auto"
	// sourceRelist: relists alone; the runtime is never subscribed to.
	sourceRelist plegSource = "relist"
	// sourceEvents: the runtime's events; relists only catch up.
	sourceEvents plegSource = "events"
)

// sourceFlags are those of the commands that watch a runtime.
func sourceFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "source", Value: string(sourceAuto), DefaultText: string(sourceAuto), Usage: "`WHERE` changes are learned from: auto, relist or events"},
		&cli.DurationFlag{Name: "relist-period", Value: time.Second, DefaultText: "1s, the kubelet's", Usage: "`TIME` between two relists, where events do not make more of it"},
	}
}

// readSource reads sourceFlags.
func readSource(c *cli.Context) (plegSource, time.Duration, error) {
	source, period := plegSource(c.String("source")), c.Duration("relist-period")
	switch source {
	case sourceAuto, sourceRelist, sourceEvents:
	default:
		return "", 0, usagef("--source %q is none of auto, relist, events", source)
	}
	if period <= 0 {
		return "", 0, usagef("--relist-period %s is not positive", period)
	}
	return source, period, nil
}

// plegOptions are what a command asks of a PLEG.
type plegOptions struct {
	source plegSource
	// period between two relists, 0 for the kubelet's second.
	period time.Duration
	// timeout of each CRI call that reads, 0 for what the user set.
	timeout time.Duration
	// callDeadline and threshold are those of pleg.Options.
	callDeadline, threshold time.Duration
	// observer is told what the PLEG does, calls of each CRI call in flight;
	// nil for nobody.
	observer pleg.Observer
	// operations is told of each CRI call that has ended; nil for nobody.
	operations cri.Observer
	calls      cri.CallWatcher
	// wrap puts something between the PLEG and the runtime; nil for nothing.
	wrap func(pleg.Runtime) pleg.Runtime
}

// plegSession is a PLEG on a runtime. Subscribe, then start.
type plegSession struct {
	*pleg.PLEG
	client *cri.Client
	// version is the runtime's, as of when podctl connected.
	version cri.Version

	stop   func() // closes the connection
	cancel context.CancelFunc
	ended  chan struct{}
}

// beginPLEG is openPLEG until the first interrupt.
func beginPLEG(ctx context.Context, e *env, g globals, o plegOptions) (session *plegSession, err error) {
	err = e.untilInterrupted(ctx, func(ctx context.Context) (err error) {
		session, err = openPLEG(ctx, e, g, o)
		return err
	})
	if errors.Is(err, errInterrupted) && session != nil {
		session.Close()
	}
	return session, err
}

// openPLEG connects to the runtime and makes a PLEG, which does nothing before
// start. The caller closes the session. Where events are demanded of a runtime
// that must not be asked for them, it is an unsharedError.
func openPLEG(ctx context.Context, e *env, g globals, o plegOptions) (*plegSession, error) {
	if o.timeout > 0 {
		g.timeout = o.timeout
	}
	client, stop, err := connectWatched(ctx, e, g, o.calls, o.operations)
	if err != nil {
		return nil, err
	}
	s := &plegSession{client: client, stop: stop}
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
		// politeRuntime subscribes to no other.
		Broadcasts: func(context.Context) bool { return true },
		Log:        e.log, Observer: o.observer, Now: e.now,
	})
	return s, nil
}

// start lets the PLEG run until Close.
func (s *plegSession) start(ctx context.Context) {
	settle()
	ctx, s.cancel = context.WithCancel(ctx)
	s.ended = make(chan struct{})
	go func() {
		defer close(s.ended)
		_ = s.Run(ctx) // fails only if it runs already
	}()
}

// Close ends the PLEG and the connection.
func (s *plegSession) Close() {
	if s.cancel != nil {
		s.cancel()
		<-s.ended
	}
	s.stop()
}

// politeRuntime never takes anybody's events away.
type politeRuntime struct {
	*cri.Client
	source plegSource
}

// errNotAsked is why there are no hints if the user wants none.
var errNotAsked = fmt.Errorf("--source relist: %w", errors.ErrUnsupported)

// Hints subscribes unless the user forbids it, or the runtime gives each event
// to one subscriber only. It is asked anew each time: a runtime that was away
// may be another one now.
func (r politeRuntime) Hints(ctx context.Context, opened func(), each func(pod.Hint)) error {
	if r.source == sourceRelist {
		return errNotAsked
	}
	v, err := r.Version(ctx)
	if err != nil {
		return err
	}
	if !v.BroadcastsEvents() {
		return &unsharedError{v}
	}
	return r.Client.Hints(ctx, opened, each)
}

// unsharedError: a runtime whose events podctl does not ask for.
type unsharedError struct{ version cri.Version }

func (e *unsharedError) Error() string {
	switch number := strings.TrimPrefix(e.version.Version, "v"); {
	case strings.HasPrefix(number, "1.7"):
		return fmt.Sprintf("%s gives each event to one subscriber only: podctl would take them from the kubelet", e.version)
	case strings.HasPrefix(number, "1."):
		return fmt.Sprintf("%s has no events", e.version)
	}
	return fmt.Sprintf("%s: whether it gives its events to every subscriber is not known", e.version)
}

func (*unsharedError) Hint() string { return "relists work everywhere: --source relist" }

func (*unsharedError) Unwrap() error { return errors.ErrUnsupported }
