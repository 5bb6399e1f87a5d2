package proxy

import (
	"context"
	"net"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/proto"

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
	options Options
	began   time.Time
	runtime *grpc.ClientConn
	server  *grpc.Server

	mu    sync.Mutex // guards the fields below
	rules *rules.Set
	names trace.Names

	stale staleAnswers
}

// New returns a proxy that serves nothing yet. Its names are those of the pods that exist.
func New(o Options, set *rules.Set, names trace.Names) (*Proxy, error) {
	p := &Proxy{options: o, began: o.Now(), rules: set, names: names}
	var err error
	p.runtime, err = grpc.NewClient("passthrough:runtime", grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithAuthority("localhost"),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return o.Dial(ctx) }),
		grpc.WithDefaultCallOptions(grpc.ForceCodecV2(relay.Codec{}), grpc.MaxCallRecvMsgSize(maxMessage), grpc.MaxCallSendMsgSize(maxMessage)),
		grpc.WithConnectParams(grpc.ConnectParams{Backoff: reconnect, MinConnectTimeout: 5 * time.Second}))
	if err != nil {
		return nil, err
	}
	p.server = grpc.NewServer(grpc.Creds(peers{insecure.NewCredentials(), o.CallerOf}), grpc.ForceServerCodecV2(relay.Codec{}),
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

// Rules returns the rules with their counts.
func (p *Proxy) Rules() []rules.Counted {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := []rules.Counted{}
	for _, r := range p.rules.Rules {
		all = append(all, *r)
	}
	return all
}

// Change changes the rules, for calls that begin and messages that come from now on.
func (p *Proxy) Change(c rules.Change) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.rules.Apply(c, p.elapsed())
}

// Follow replaces the rules of the file that the proxy follows: see rules.Set.
func (p *Proxy) Follow(all []rules.Rule) (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.rules.Follow(all, p.elapsed())
}

func (p *Proxy) elapsed() time.Duration { return p.options.Now().Sub(p.began) }

// decide returns the rules that fire for a call, and tells about them.
func (p *Proxy) decide(c rules.Call) []*rules.Firing {
	p.mu.Lock()
	defer p.mu.Unlock()
	fired := p.rules.Decide(c, p.elapsed())
	for _, f := range fired {
		p.options.Fired(f, c)
	}
	return fired
}

// edit changes an answer as the rules say.
func (p *Proxy) edit(m proto.Message, fired []*rules.Firing) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range fired {
		if err := f.Edit(m, &p.names); err != nil {
			return err
		}
	}
	return nil
}

// peers are the credentials of the server: none, but the caller of each connection.
type peers struct {
	credentials.TransportCredentials
	callerOf func(net.Conn) relay.Caller
}

// peer is the other end of a connection.
type peer struct {
	caller relay.Caller
	conn   net.Conn
}

// AuthType implements credentials.AuthInfo.
func (peer) AuthType() string { return "unix" }

// ServerHandshake exchanges nothing.
func (p peers) ServerHandshake(conn net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return conn, peer{p.callerOf(conn), conn}, nil
}

// Clone implements credentials.TransportCredentials.
func (p peers) Clone() credentials.TransportCredentials { return p }
