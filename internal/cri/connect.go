package cri

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// Options are what Connect needs.
type Options struct {
	// Endpoint is the runtime's, as Discover gives it; Image "" means the same.
	Endpoint Endpoint
	// Log gets one debug line a call; nil discards it.
	Log *slog.Logger
	// Observer is told of every call that ended; may be nil.
	Observer Observer
	// Watcher is told of every call while it is in flight; may be nil.
	Watcher CallWatcher
	// OnLargeList is called at most once per connection, if a list does not fit into one gRPC
	// message, with an error that has a hint; nil logs the error.
	OnLargeList func(error)
	// Now is the clock; nil means time.Now.
	Now func() time.Time
	// Dial replaces connecting to the endpoints' sockets: how a test, "sim:" or
	// "tape:" reaches a runtime in this process.
	Dial func(context.Context) (net.Conn, error)

	// peekTimeout is that of the dialer; tests set it.
	peekTimeout time.Duration
}

// Client talks to one runtime. Its methods may be used by many goroutines.
type Client struct {
	endpoint Endpoint
	runtime  runtimeapi.RuntimeServiceClient
	image    runtimeapi.ImageServiceClient
	conns    []*grpc.ClientConn
	log      *slog.Logger
	now      func() time.Time

	// conn is the runtime's, for lists of everything: see entries. imageConn is that of images.
	conn       *conn
	imageConn  *conn
	sandboxes  *entries[runtimeapi.PodSandbox, sandboxEntry]
	containers *entries[runtimeapi.Container, containerEntry]
	grouped    grouped
	// tells: the last sandbox status told of its containers.
	tells atomic.Bool
	// version is what answered Connect.
	version Version
	// own is nil but for the client of a node: see ForNode.
	own *ownSandboxes
	// changes is nil but for the client of a node.
	changes *ownChanges
}

// ForNode returns a client on the same connections for a podctl that runs pods: each
// pod that podctl did not create has a UID which no pod of podctl's can have (see
// pod.SeparateUID), so that none is ever taken for one that is run.
func (c *Client) ForNode() *Client {
	return &Client{
		endpoint: c.endpoint, runtime: c.runtime, image: c.image, conns: c.conns, log: c.log, now: c.now,
		conn: c.conn, imageConn: c.imageConn, sandboxes: c.sandboxes, containers: c.containers, version: c.version, own: newOwnSandboxes(), changes: newOwnChanges(),
	}
}

// Connect connects and makes sure that a CRI v1 runtime answers. Its errors
// tell apart a missing socket, a refused one, one without a server, and one
// that something else serves; each is ErrUnavailable or ErrNotCRI, with a hint.
func Connect(ctx context.Context, o Options) (*Client, error) {
	if o.Endpoint.Image == "" {
		o.Endpoint.Image = o.Endpoint.Runtime
	}
	if o.Endpoint.Timeout == 0 {
		o.Endpoint.Timeout = DefaultTimeout
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	c := &Client{
		endpoint: o.Endpoint, log: o.Log, now: o.Now,
		sandboxes: newEntries(toSandboxEntry), containers: newEntries(toContainerEntry),
	}
	runtime, err := c.open(o, o.Endpoint.Runtime)
	if err != nil {
		return nil, err
	}
	image := runtime
	if o.Endpoint.Image != o.Endpoint.Runtime {
		if image, err = c.open(o, o.Endpoint.Image); err != nil {
			c.Close()
			return nil, err
		}
	}
	c.conn, c.imageConn = runtime, image
	c.runtime = runtimeapi.NewRuntimeServiceClient(runtime)
	c.image = runtimeapi.NewImageServiceClient(image)

	ctx, cancel := context.WithTimeout(ctx, min(ConnectTimeout, o.Endpoint.Timeout))
	defer cancel()
	if c.version, err = c.Version(ctx); err != nil {
		err = explain(ctx, runtime, err)
		c.Close()
		return nil, err
	}
	if image != runtime {
		if _, err := c.image.ImageFsInfo(ctx, &runtimeapi.ImageFsInfoRequest{}); err != nil {
			err = explain(ctx, image, err)
			c.Close()
			return nil, err
		}
	}
	return c, nil
}

// Endpoint is where the client is connected to.
func (c *Client) Endpoint() Endpoint { return c.endpoint }

// RuntimeConn is the connection to the runtime's service. Deadlines and errors are those of this
// package.
func (c *Client) RuntimeConn() grpc.ClientConnInterface { return c.conn }

// ImageConn is the connection to the service that pulls images, for calls of other services
// at its socket. Deadlines and errors are those of this package.
func (c *Client) ImageConn() grpc.ClientConnInterface { return c.imageConn }

// Connected is what the runtime said that it is when the client connected. One
// that was replaced since is known to Version.
func (c *Client) Connected() Version { return c.version }

// IsSimulated reports whether the runtime is podctl's simulated one, whose containers have neither
// processes nor cgroups.
func (c *Client) IsSimulated() bool {
	return c.endpoint.Runtime == SimEndpoint || c.version.Name == SimName
}

// Close ends the connections; calls in flight fail.
func (c *Client) Close() {
	for _, cc := range c.conns {
		_ = cc.Close()
	}
}

// open prepares a connection; nothing is sent before the first call.
func (c *Client) open(o Options, endpoint string) (*conn, error) {
	endpoint, err := normalizeEndpoint(endpoint)
	if err != nil {
		return nil, err
	}
	dial := o.Dial
	if dial == nil {
		if endpoint == SimEndpoint || IsRecording(endpoint) {
			return nil, fmt.Errorf("connect to %s: only podctl's --runtime-endpoint names it", endpoint)
		}
		dial = func(ctx context.Context) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", socketPath(endpoint))
		}
	}
	d := &dialer{dial: dial, peekTimeout: o.peekTimeout}
	cc, err := grpc.NewClient("passthrough:///"+endpoint,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithAuthority("localhost"),
		grpc.WithContextDialer(d.connect),
		grpc.WithDisableServiceConfig(),
		// A runtime that returns is found again within three seconds.
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: 3 * time.Second},
			MinConnectTimeout: 5 * time.Second,
		}),
	)
	if err != nil {
		return nil, err
	}
	c.conns = append(c.conns, cc)
	return &conn{
		ClientConnInterface: cc, endpoint: endpoint, dialer: d,
		timeout: o.Endpoint.Timeout, log: o.Log, observer: o.Observer, watcher: o.Watcher, now: o.Now, onLargeList: o.OnLargeList,
	}, nil
}
