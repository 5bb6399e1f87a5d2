package tracing

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/lab/trace"
	"github.com/podctl/podctl/internal/serve/daemon"
	"github.com/podctl/podctl/internal/sys/ownsocket"
)

// Runtime is the runtime that calls are passed on to.
type Runtime struct {
	Endpoint cri.Endpoint
	Dial     func(context.Context) (net.Conn, error)
	// Close stops a simulated runtime.
	Close func()

	client *cri.Client // nil if the runtime does not answer
}

// Connect connects to the runtime, which may hang, but has to be there.
func Connect(ctx context.Context, o daemon.ConnectOptions, say func(format string, args ...any)) (*Runtime, error) {
	endpoint, err := cri.Discover(ctx, cri.DiscoverOptions{Runtime: o.Runtime, Image: o.Image, Timeout: o.Timeout})
	if err != nil {
		return nil, err
	}
	t := &Runtime{Endpoint: endpoint, Close: func() {}}
	options := cri.Options{Endpoint: endpoint, Log: o.Log}
	if endpoint.Runtime == cri.SimEndpoint {
		t.Dial, t.Close = o.Simulate()
		options.Dial = t.Dial
	} else {
		path := strings.TrimPrefix(endpoint.Runtime, "unix://")
		t.Dial = func(ctx context.Context) (net.Conn, error) { return (&net.Dialer{}).DialContext(ctx, "unix", path) }
	}
	t.client, err = cri.Connect(ctx, options)
	switch {
	case errors.Is(err, cri.ErrHung):
		say("warning: %v: pods that exist are shown by their ids", err)
	case err != nil:
		t.Close()
		return nil, err
	}
	return t, nil
}

// listTimeout bounds the list of the pods that exist: without it only pods that callers
// list or create have names.
const listTimeout = 2 * time.Second

// LearnPods adds the names of the pods that exist, and disconnects podctl itself.
func (t *Runtime) LearnPods(ctx context.Context, log *slog.Logger, names *trace.Names) {
	if t.client == nil {
		return
	}
	defer t.client.Close()
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	pods, err := t.client.ListPods(ctx)
	if err != nil {
		log.Warn("pods that exist are shown by their ids", "err", err)
		return
	}
	names.LearnPods(pods)
}

// environment is that of the command: its runtime is the one at the socket, and so is the image
// service, unless the runtime has another.
func (t *Runtime) environment(socket string) []string {
	image := "unix://" + socket
	if t.Endpoint.Image != t.Endpoint.Runtime {
		image = t.Endpoint.Image
	}
	var inherited []string
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if name != "PODCTL_RUNTIME_ENDPOINT" && name != "PODCTL_IMAGE_ENDPOINT" { // they would win
			inherited = append(inherited, v)
		}
	}
	return append(inherited, "CONTAINER_RUNTIME_ENDPOINT=unix://"+socket, "IMAGE_SERVICE_ENDPOINT="+image)
}

// Frontend is the socket at which a trace gets calls.
type Frontend interface {
	net.Listener
	// Path is that of the socket.
	Path() string
	// Begin directs callers to the listener, which is served by then; End stops that, and
	// closes the listener.
	Begin(context.Context) error
	End() error
	// Failed receives why the trace has to end early; nil if nothing can cause that.
	Failed() <-chan error
}

// Socket is a Frontend of the trace's own.
type Socket struct {
	net.Listener
	path string
	dir  string // of its own, "" for none
}

// Listen creates the socket for callers; "" is one in a directory of its own, which
// End removes.
func Listen(path string) (s *Socket, err error) {
	s = &Socket{path: path}
	if path == "" {
		if s.dir, err = os.MkdirTemp("", "podctl-trace-"); err != nil {
			return nil, err
		}
		s.path = filepath.Join(s.dir, "cri.sock")
	}
	if s.Listener, err = ownsocket.Listen(s.path); err != nil {
		return nil, errors.Join(err, s.removeDir())
	}
	return s, nil
}

func (s *Socket) removeDir() error {
	if s.dir == "" {
		return nil
	}
	return os.Remove(s.dir)
}

// Path implements Frontend.
func (s *Socket) Path() string { return s.path }

// Begin implements Frontend.
func (*Socket) Begin(context.Context) error { return nil }

// End implements Frontend.
func (s *Socket) End() error { return errors.Join(s.Close(), s.removeDir()) }

// Failed implements Frontend.
func (*Socket) Failed() <-chan error { return nil }
