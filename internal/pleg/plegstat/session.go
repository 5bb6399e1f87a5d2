package plegstat

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/pleg"
	"github.com/podctl/podctl/internal/pod"
)

// EventSource is where a Session gets its events from.
type EventSource string

const (
	// AutoSource: relists, and the runtime's events where subscribing takes them
	// from no other subscriber.
	AutoSource EventSource = "auto"
	// HintSource: the runtime's events; relists only catch up.
	HintSource EventSource = "events"
)

// SessionOptions configure the PLEG of a command.
type SessionOptions struct {
	Source EventSource
	// Period between two relists, 0 for the kubelet's second.
	Period time.Duration
	// CallDeadline and Threshold are those of pleg.Options.
	CallDeadline, Threshold time.Duration
	// Observer may be nil.
	Observer pleg.Observer
	// Wrap wraps the runtime; may be nil.
	Wrap func(pleg.Runtime) pleg.Runtime
	Log  *slog.Logger
	Now  func() time.Time
}

// Session is a PLEG on a runtime: Subscribe, then Start.
type Session struct {
	*pleg.PLEG
	Client *cri.Client
	// Version is the runtime's when the session was opened.
	Version cri.Version

	cancel context.CancelFunc
	ended  chan struct{}
}

// Open makes a PLEG, which does nothing before Start. With HintSource the error says that podctl must not
// subscribe to this runtime.
func Open(ctx context.Context, client *cri.Client, o SessionOptions) (*Session, error) {
	s := &Session{Client: client}
	var err error
	if s.Version, err = client.Version(ctx); err != nil {
		return nil, err
	}
	if o.Source == HintSource && !s.Version.BroadcastsEvents() {
		return nil, fmt.Errorf("--source events: %w", &unsharedError{s.Version})
	}
	var runtime pleg.Runtime = politeRuntime{client}
	if o.Wrap != nil {
		runtime = o.Wrap(runtime)
	}
	s.PLEG = pleg.New(runtime, pleg.Options{
		Period: o.Period, CallDeadline: o.CallDeadline, Threshold: o.Threshold,
		HintsOnly: o.Source == HintSource,
		// politeRuntime does not subscribe to any other.
		Broadcasts: func(context.Context) bool { return true },
		Log:        o.Log, Observer: o.Observer, Now: o.Now,
	})
	return s, nil
}

// Start runs the PLEG until Close.
func (s *Session) Start(ctx context.Context) {
	ctx, s.cancel = context.WithCancel(ctx)
	s.ended = make(chan struct{})
	go func() {
		defer close(s.ended)
		_ = s.Run(ctx) // fails only if it runs already
	}()
}

// Close stops the PLEG. The client is the caller's.
func (s *Session) Close() {
	if s.cancel != nil {
		s.cancel()
		<-s.ended
	}
}

// politeRuntime never takes events from another subscriber.
type politeRuntime struct{ *cri.Client }

// Notices subscribes unless the runtime delivers each event to one subscriber only. The
// version is read each time, because the runtime may have been upgraded.
func (r politeRuntime) Notices(ctx context.Context, opened func(), each func(pod.Notice)) error {
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

func (*unsharedError) Unwrap() error { return errors.ErrUnsupported }
