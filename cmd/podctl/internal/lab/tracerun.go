package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/lab/relay"
	"github.com/podctl/podctl/internal/lab/sim"
	"github.com/podctl/podctl/internal/lab/trace"
	"github.com/podctl/podctl/internal/sys/ownsocket"
)

// runTrace traces until the command ends, an interrupt, or --for. It does not call
// shell.Settle: garbage collection would delay the calls that pass.
func runTrace(ctx context.Context, e *shell.Env, o traceOptions) (err error) {
	u := e.Unblocked()
	defer u.Flush()
	runtime, err := connectTraced(ctx, u.Env, o.Globals)
	if err != nil {
		return err
	}
	defer runtime.close()
	s, err := newSession(u.Env, o)
	if err != nil {
		return err
	}
	runtime.learn(ctx, s.env, &s.tracer.Names)
	in, err := openFrontend(u.Env, o, runtime)
	if err != nil {
		return errors.Join(err, s.close())
	}
	s.keepError(s.printer.begin())
	r := relay.New(relay.Options{Dial: runtime.dial, Observer: s, CallerOf: relay.PeerOf, Now: e.Now})
	go r.Serve(in.listener)
	if err = in.begin(ctx); err == nil {
		err = s.wait(ctx, e, in)
	}
	closed := in.end(ctx, s, r)
	flush(r)
	s.stop()
	r.Close()
	closed = errors.Join(closed, s.close())
	if err == nil && len(o.command) == 0 {
		_ = u.Finish(ctx, func() error { return nil })
	}
	return cmp.Or(err, closed)
}

// frontend is the socket at which the relay gets calls: one of its own, or the runtime's.
type frontend struct {
	listener net.Listener
	// socket is the path for the command, image the endpoint of its image service.
	socket, image string
	// begin directs callers to the listener, which is served by then; end stops that.
	begin func(context.Context) error
	end   func(context.Context, *session, *relay.Relay) error
	// stepAside receives why the trace has to end early; nil if nothing can cause that.
	stepAside <-chan error
}

// openFrontend returns the frontend that the options ask for.
func openFrontend(e *shell.Env, o traceOptions, runtime *tracedRuntime) (frontend, error) {
	if o.attach {
		return openAttached(e, runtime)
	}
	l, socket, err := listenTraced(o.listen)
	if err != nil {
		return frontend{}, err
	}
	return frontend{
		listener: l, socket: socket, image: runtime.imageEndpoint(socket),
		begin: func(context.Context) error {
			if len(o.command) == 0 {
				fmt.Fprintf(e.Errw, "tracing calls to %s at unix://%s\n", runtime.endpoint.Runtime, socket)
			}
			return nil
		},
		end: func(context.Context, *session, *relay.Relay) error { return l.Close() },
	}, nil
}

// flushTimeout bounds how long the end waits for calls that have passed to be printed.
const flushTimeout = 500 * time.Millisecond

func flush(r *relay.Relay) {
	ctx, cancel := context.WithTimeout(context.Background(), flushTimeout)
	defer cancel()
	r.Flush(ctx)
}

// tracedRuntime is the runtime that calls are passed on to.
type tracedRuntime struct {
	endpoint cri.Endpoint
	dial     func(context.Context) (net.Conn, error)
	client   *cri.Client // nil if the runtime does not answer
	close    func()
}

// connectTraced connects to the runtime, which may hang, but has to be there.
func connectTraced(ctx context.Context, e *shell.Env, g shell.Globals) (*tracedRuntime, error) {
	endpoint, err := cri.Discover(ctx, cri.DiscoverOptions{Runtime: g.Runtime, Image: g.Image, Timeout: g.Timeout})
	if err != nil {
		return nil, err
	}
	t := &tracedRuntime{endpoint: endpoint, close: func() {}}
	options := cri.Options{Endpoint: endpoint, Log: e.Log}
	if endpoint.Runtime == cri.SimEndpoint {
		var runtime *sim.Runtime
		runtime, t.close = e.Simulate()
		t.dial, options.Dial = runtime.Dial, runtime.Dial
	} else {
		path := strings.TrimPrefix(endpoint.Runtime, "unix://")
		t.dial = func(ctx context.Context) (net.Conn, error) { return (&net.Dialer{}).DialContext(ctx, "unix", path) }
	}
	t.client, err = cri.Connect(ctx, options)
	switch {
	case errors.Is(err, cri.ErrHung):
		fmt.Fprintf(e.Errw, "warning: %v: pods that exist are shown by their ids\n", err)
	case err != nil:
		t.close()
		return nil, err
	}
	return t, nil
}

// imageEndpoint is the image service for callers of the socket: the same, unless the
// runtime has another.
func (t *tracedRuntime) imageEndpoint(socket string) string {
	if t.endpoint.Image != t.endpoint.Runtime {
		return t.endpoint.Image
	}
	return "unix://" + socket
}

// learnTimeout bounds the list of the pods that exist: without it only pods that callers
// list or create have names.
const learnTimeout = 2 * time.Second

// learn adds the names of the pods that exist, and disconnects podctl itself.
func (t *tracedRuntime) learn(ctx context.Context, e *shell.Env, names *trace.Names) {
	if t.client == nil {
		return
	}
	defer t.client.Close()
	ctx, cancel := context.WithTimeout(ctx, learnTimeout)
	defer cancel()
	pods, err := t.client.ListPods(ctx)
	if err != nil {
		e.Log.Warn("pods that exist are shown by their ids", "err", err)
		return
	}
	names.LearnPods(pods)
}

// listenTraced creates the socket for callers; "" is one in a directory of its own, which
// closing the listener removes.
func listenTraced(path string) (net.Listener, string, error) {
	if path != "" {
		l, err := ownsocket.Listen(path)
		return l, path, err
	}
	dir, err := os.MkdirTemp("", "podctl-trace-")
	if err != nil {
		return nil, "", err
	}
	path = filepath.Join(dir, "cri.sock")
	l, err := ownsocket.Listen(path)
	if err != nil {
		return nil, "", errors.Join(err, os.Remove(dir))
	}
	return &inDir{l, dir}, path, nil
}

// inDir is a listener with a directory of its own.
type inDir struct {
	net.Listener
	dir string
}

func (l *inDir) Close() error { return errors.Join(l.Listener.Close(), os.Remove(l.dir)) }
