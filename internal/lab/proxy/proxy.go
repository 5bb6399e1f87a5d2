package proxy

import (
	"context"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/podctl/podctl/internal/lab/inject"
	"github.com/podctl/podctl/internal/lab/relay"
	"github.com/podctl/podctl/internal/lab/rules"
	"github.com/podctl/podctl/internal/lab/trace"
)

// maxMessage bounds a message, in bytes: four times what the kubelet takes.
const maxMessage = 64 << 20

// reconnect finds a runtime that returns within 1.2 seconds, however long it was away: gRPC's own
// takes up to two minutes.
var reconnect = backoff.Config{BaseDelay: 100 * time.Millisecond, Multiplier: 1.6, Jitter: 0.2, MaxDelay: time.Second}

// Options are what New needs.
type Options struct {
	// Dial connects to the runtime.
	Dial func(context.Context) (net.Conn, error)
	// CallerOf identifies the other end of a connection.
	CallerOf func(net.Conn) relay.Caller
	Now      func() time.Time
	// Fired is told about each rule that fires.
	Fired func(*rules.Firing, rules.Call)
}

// Proxy serves callers. It is safe for concurrent use.
type Proxy struct {
	*inject.Injector
	runtime *grpc.ClientConn
	server  *grpc.Server
	names   *trace.Names
}

// New returns a proxy that serves nothing yet. Its names are those of the pods that exist.
func New(o Options, set *rules.Set, names *trace.Names) (*Proxy, error) {
	p := &Proxy{Injector: inject.New(inject.Options{Now: o.Now, Names: names, Fired: o.Fired}, set), names: names}
	var err error
	p.runtime, err = grpc.NewClient("passthrough:runtime", grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithAuthority("localhost"),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return o.Dial(ctx) }),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(relay.Codec{}), grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage)),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: reconnect, MinConnectTimeout: 5 * time.Second}))
	if err != nil {
		return nil, err
	}
	p.server = grpc.NewServer(grpc.Creds(inject.Credentials(o.CallerOf)), grpc.ForceServerCodecV2(codec{}),
		grpc.UnknownServiceHandler(p.handle), grpc.WaitForHandlers(true), grpc.MaxRecvMsgSize(maxMessage))
	return p, nil
}

// Serve serves the connections of a listener until Close.
func (p *Proxy) Serve(l net.Listener) error { return p.server.Serve(l) }

// Close ends the connections.
func (p *Proxy) Close() {
	p.server.Stop()
	_ = p.runtime.Close()
}
