package record

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
)

// Call is one call that has ended.
type Call struct {
	Method     string // without the service: "RunPodSandbox"
	Request    []byte // the (first) request message, as on the wire
	Answer     []byte // the (first) answer likewise; not kept of reads
	Start, End time.Time
	Err        error
}

// IsRead reports whether the call changes nothing: lists, statuses, versions.
func (c Call) IsRead() bool {
	for _, prefix := range []string{"List", "Stream", "Version", "Status", "RuntimeConfig", "GetContainerEvents", "ImageFsInfo"} {
		if strings.HasPrefix(c.Method, prefix) {
			return true
		}
	}
	return strings.HasSuffix(c.Method, "Status") || strings.HasSuffix(c.Method, "Stats")
}

// Proxy serves an endpoint of its own and passes all calls on.
type Proxy struct {
	Endpoint string // unix://…

	server  *grpc.Server
	backend *grpc.ClientConn
	served  sync.WaitGroup

	mu         sync.Mutex
	calls      []Call
	begin, end func(Call)
}

// Watch has begin called before each call goes to the runtime, and end before
// its answer goes to the client, which waits that long: the test that kills the
// client then knows what the client had done and learned. Either may be nil.
func (p *Proxy) Watch(begin, end func(Call)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.begin, p.end = begin, end
}

// Start listens on the socket, which must not exist, in front of the endpoint.
func Start(socket, endpoint string) (*Proxy, error) {
	backend, err := grpc.NewClient(endpoint, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(rawCodec{}), grpc.MaxCallRecvMsgSize(16<<20)))
	if err != nil {
		return nil, fmt.Errorf("connect %q: %w", endpoint, err)
	}
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("listen: %w", err), backend.Close())
	}
	p := &Proxy{Endpoint: "unix://" + socket, backend: backend}
	p.server = grpc.NewServer(grpc.ForceServerCodec(rawCodec{}), grpc.UnknownServiceHandler(p.handle),
		grpc.MaxRecvMsgSize(16<<20))
	p.served.Go(func() { _ = p.server.Serve(listener) })
	return p, nil
}

// Close ends all calls and removes the socket.
func (p *Proxy) Close() error {
	p.server.Stop()
	p.served.Wait()
	return p.backend.Close()
}

// Take returns the calls that have ended since the last Take.
func (p *Proxy) Take() []Call {
	p.mu.Lock()
	defer p.mu.Unlock()
	taken := p.calls
	p.calls = nil
	return taken
}

// Calls returns the calls that have ended since the last Take, and leaves them.
func (p *Proxy) Calls() []Call {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.calls)
}

func (p *Proxy) handle(_ any, in grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(in)
	call := Call{Method: path.Base(method), Start: time.Now()}
	var request message
	if call.Err = in.RecvMsg(&request); call.Err == nil {
		call.Request = request.data
		p.tell(call, func() func(Call) { return p.begin })
		call.Answer, call.Err = p.pass(in, method, &request)
	}
	if call.IsRead() {
		call.Answer = nil // lists are large
	}
	call.End = time.Now()
	p.mu.Lock()
	p.calls = append(p.calls, call)
	p.mu.Unlock()
	p.tell(call, func() func(Call) { return p.end })
	return call.Err
}

// tell calls the watcher that choose gives, if there is one.
func (p *Proxy) tell(call Call, choose func() func(Call)) {
	p.mu.Lock()
	watch := choose()
	p.mu.Unlock()
	if watch != nil {
		watch(call)
	}
}

// pass sends the request, and then copies messages both ways until the runtime
// has answered. It returns the first answer.
func (p *Proxy) pass(in grpc.ServerStream, method string, request *message) (answer []byte, err error) {
	ctx, cancel := context.WithCancel(in.Context())
	defer cancel()
	if md, ok := metadata.FromIncomingContext(ctx); ok {
		ctx = metadata.NewOutgoingContext(ctx, md)
	}
	out, err := p.backend.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, method)
	if err != nil {
		return nil, err
	}
	if err := out.SendMsg(request); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	go func() {
		// A failed send shows in the answer; a failed receive is the client's
		// end, which in.Context tells the runtime.
		if err := pipe(out.SendMsg, in.RecvMsg); errors.Is(err, io.EOF) {
			_ = out.CloseSend()
		}
	}()
	err = pipe(in.SendMsg, func(m any) error {
		err := out.RecvMsg(m)
		if answer == nil {
			answer = m.(*message).data
		}
		return err
	})
	in.SetTrailer(out.Trailer())
	if errors.Is(err, io.EOF) {
		return answer, nil
	}
	return nil, err
}

func pipe(send, receive func(any) error) error {
	for {
		var m message
		if err := receive(&m); err != nil {
			return err
		}
		if err := send(&m); err != nil {
			return err
		}
	}
}
