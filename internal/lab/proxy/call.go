package proxy

import (
	"context"
	"errors"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	"github.com/podctl/podctl/internal/lab/relay"
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
