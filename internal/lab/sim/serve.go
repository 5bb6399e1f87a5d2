package sim

import (
	"context"
	"net"
	"os"
	"sync"
	"syscall"

	"google.golang.org/grpc"
	"google.golang.org/grpc/test/bufconn"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/lab/inject"
	"github.com/podctl/podctl/internal/lab/relay"
)

// newServer makes a gRPC server of the CRI's services, and of those of containerd that show
// pulls in flight.
func (r *Runtime) newServer() *grpc.Server {
	s := grpc.NewServer(
		grpc.Creds(inject.Credentials(relay.PeerOf)),
		grpc.UnaryInterceptor(r.intercept),
		grpc.StreamInterceptor(r.interceptStream),
		grpc.MaxRecvMsgSize(16<<20), grpc.MaxSendMsgSize(16<<20),
		grpc.WaitForHandlers(true),
	)
	runtimeapi.RegisterRuntimeServiceServer(s, r)
	runtimeapi.RegisterImageServiceServer(s, r)
	return s
}

// Serve serves on a listener, for instance of a unix socket, until it or the
// runtime is closed. While the runtime is crashed, connections are accepted
// and closed.
func (r *Runtime) Serve(l net.Listener) error { return r.gate.serve(l) }

// Dial connects within the process: what cri.Options.Dial wants.
func (r *Runtime) Dial(ctx context.Context) (net.Conn, error) { return r.gate.dial(ctx) }

// Crash makes the runtime go away as containerd does when it is killed: calls
// in flight break, connections are refused, no event is delivered. What runs
// goes on running.
func (r *Runtime) Crash() { r.gate.stop() }

// Restart brings it back.
func (r *Runtime) Restart() { r.gate.start() }

// gate hands connections to the gRPC server of the day.
type gate struct {
	newServer func() *grpc.Server
	mem       *bufconn.Listener // of Dial

	mu     sync.Mutex
	server *grpc.Server // nil while crashed
	in     *funnel      // where server accepts
	served sync.WaitGroup
}

func newGate(newServer func() *grpc.Server) *gate {
	g := &gate{newServer: newServer, mem: bufconn.Listen(64 << 10)}
	g.start()
	g.served.Go(func() { _ = g.serve(g.mem) })
	return g
}

func (g *gate) start() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.server != nil {
		return
	}
	server, in := g.newServer(), newFunnel()
	g.server, g.in = server, in
	g.served.Go(func() { _ = server.Serve(in) })
}

func (g *gate) stop() {
	g.mu.Lock()
	server := g.server
	g.server, g.in = nil, nil
	g.mu.Unlock()
	if server != nil {
		server.Stop()
	}
}

func (g *gate) close() {
	g.stop()
	_ = g.mem.Close()
	g.served.Wait()
}

func (g *gate) dial(ctx context.Context) (net.Conn, error) {
	g.mu.Lock()
	up := g.server != nil
	g.mu.Unlock()
	if !up {
		return nil, &net.OpError{Op: "dial", Net: "sim", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	}
	return g.mem.DialContext(ctx)
}

func (g *gate) serve(l net.Listener) error {
	for {
		conn, err := l.Accept()
		if err != nil {
			return err
		}
		g.mu.Lock()
		in := g.in
		g.mu.Unlock()
		if in == nil || !in.put(conn) {
			_ = conn.Close()
		}
	}
}

// funnel is a listener fed by others.
type funnel struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

var _ net.Listener = (*funnel)(nil)

func newFunnel() *funnel {
	return &funnel{conns: make(chan net.Conn), closed: make(chan struct{})}
}

func (f *funnel) put(c net.Conn) bool {
	select {
	case f.conns <- c:
		return true
	case <-f.closed:
		return false
	}
}

func (f *funnel) Accept() (net.Conn, error) {
	select {
	case c := <-f.conns:
		return c, nil
	case <-f.closed:
		return nil, net.ErrClosed
	}
}

func (f *funnel) Close() error {
	f.once.Do(func() { close(f.closed) })
	return nil
}

func (f *funnel) Addr() net.Addr { return &net.UnixAddr{Name: "sim", Net: "unix"} }
