package proxy

import (
	"context"
	"errors"
	"io"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"github.com/podctl/podctl/internal/lab/inject"
	"github.com/podctl/podctl/internal/lab/relay"
	"github.com/podctl/podctl/internal/lab/rules"
	"github.com/podctl/podctl/internal/lab/trace"
)

// call is one gRPC call that the proxy passes on.
type call struct {
	*Proxy
	ctx        context.Context // with the caller's metadata for the runtime
	caller     grpc.ServerStream
	fullMethod string
	// request and answer are of the method's types.
	request, answer proto.Message
	raw             []byte // the request
}

// message is a message of the runtime, decoded and as it came.
type message struct {
	proto.Message
	raw []byte
}

// handle passes a call of any method.
func (p *Proxy) handle(_ any, stream grpc.ServerStream) error {
	full, _ := grpc.MethodFromServerStream(stream)
	md, _ := metadata.FromIncomingContext(stream.Context())
	c := &call{Proxy: p, ctx: metadata.NewOutgoingContext(stream.Context(), md), caller: stream, fullMethod: full}
	var streams bool
	if c.request, c.answer, streams = trace.MessagesOf(full); c.request == nil {
		return c.passUnknown()
	}
	if err := stream.RecvMsg(&c.raw); err != nil {
		return err
	}
	if proto.Unmarshal(c.raw, c.request) != nil {
		proto.Reset(c.request)
	}
	if streams {
		return p.Stream(nil, stream, &grpc.StreamServerInfo{FullMethod: full}, c.stream)
	}
	answer, err := p.Unary(c.ctx, c.request, &grpc.UnaryServerInfo{FullMethod: full}, c.invoke)
	if err != nil {
		return err
	}
	return stream.SendMsg(answer)
}

// invoke returns the answer of the runtime. It is a grpc.UnaryHandler.
func (c *call) invoke(context.Context, any) (any, error) {
	var raw []byte
	var header, trailer metadata.MD
	err := c.runtime.Invoke(c.ctx, c.fullMethod, &c.raw, &raw, grpc.Header(&header), grpc.Trailer(&trailer))
	_ = c.caller.SetHeader(header)
	c.caller.SetTrailer(trailer)
	if err != nil {
		return nil, err
	}
	return c.read(raw), nil
}

// read reads a message of the runtime, and learns its names. One that cannot be read is bytes.
func (c *call) read(raw []byte) any {
	answer := c.answer.ProtoReflect().New().Interface()
	if proto.Unmarshal(raw, answer) != nil {
		return &raw
	}
	c.names.Learn(c.request, answer)
	return &message{answer, raw}
}

// newStream begins the call on the runtime as a stream in both directions.
func (c *call) newStream() (grpc.ClientStream, error) {
	return c.runtime.NewStream(c.ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, c.fullMethod)
}

// stream passes a call with many answers. It is a grpc.StreamHandler.
func (c *call) stream(_ any, to grpc.ServerStream) error {
	runtime, err := c.newStream()
	if err != nil {
		return err
	}
	if err := errors.Join(runtime.SendMsg(&c.raw), runtime.CloseSend()); err != nil {
		return err
	}
	return c.forward(runtime, to, c.read)
}

// passUnknown passes a call of a method that is not known.
func (c *call) passUnknown() error {
	runtime, err := c.newStream()
	if err != nil {
		return err
	}
	go func() {
		for {
			var raw []byte
			if err := c.caller.RecvMsg(&raw); err != nil {
				_ = runtime.CloseSend()
				return
			}
			if runtime.SendMsg(&raw) != nil {
				return
			}
		}
	}()
	return c.forward(runtime, c.caller, func(raw []byte) any { return &raw })
}

// forward sends what the runtime answers, until it ends.
func (c *call) forward(runtime grpc.ClientStream, to grpc.ServerStream, read func([]byte) any) error {
	for {
		var raw []byte
		if err := runtime.RecvMsg(&raw); err != nil {
			c.caller.SetTrailer(runtime.Trailer())
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		if err := to.SendMsg(read(raw)); err != nil {
			return err
		}
	}
}

// codec sends messages as they came, unless they are changed.
type codec struct{ relay.Codec }

// Marshal implements encoding.CodecV2.
func (c codec) Marshal(v any) (mem.BufferSlice, error) {
	switch m := v.(type) {
	case *message:
		v = &m.raw
	case proto.Message:
		raw, err := proto.Marshal(m)
		if err != nil {
			return nil, err
		}
		v = &raw
	}
	return c.Codec.Marshal(v)
}

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
