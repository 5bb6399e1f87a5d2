package proxy

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	grpcpeer "google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/lab/rules"
	"github.com/podctl/podctl/internal/lab/trace"
)

// call is one call of a caller.
type call struct {
	*Proxy
	ctx    context.Context // with the caller's metadata for the runtime
	caller grpc.ServerStream
	peer   peer
	full   string
	what   rules.Call
	// request and answer are empty messages of the types if a message cannot be read.
	request, answer proto.Message
	raw             []byte // the request
}

// handle passes a call of any method.
func (p *Proxy) handle(_ any, stream grpc.ServerStream) error {
	full, _ := grpc.MethodFromServerStream(stream)
	md, _ := metadata.FromIncomingContext(stream.Context())
	c := &call{Proxy: p, ctx: metadata.NewOutgoingContext(stream.Context(), md), caller: stream, full: full}
	if from, ok := grpcpeer.FromContext(stream.Context()); ok {
		c.peer, _ = from.AuthInfo.(peer)
	}
	request, answer, streams := trace.MessagesOf(full)
	if request == nil {
		return c.pass()
	}
	if err := stream.RecvMsg(&c.raw); err != nil {
		return err
	}
	c.request, c.answer = request, answer
	if proto.Unmarshal(c.raw, request) != nil {
		proto.Reset(request)
	}
	c.what = rules.Call{Method: path.Base(full), Caller: c.peer.caller, Target: c.target(nil), List: rules.ListField(answer) != "", Stream: streams}
	fired := p.decide(c.what)
	if ended, err := c.before(fired); ended {
		return err
	}
	if streams {
		return c.stream()
	}
	return c.unary(fired)
}

// target is what the call is about; answer is nil, or teaches names.
func (c *call) target(answer proto.Message) trace.Target {
	c.mu.Lock()
	defer c.mu.Unlock()
	if answer != nil {
		c.names.Learn(c.request, answer)
	}
	if event, ok := answer.(*runtimeapi.ContainerEventResponse); ok {
		if t := c.names.Target(&runtimeapi.ContainerStatusRequest{ContainerId: event.GetContainerId()}, nil); t.Container != "" {
			return t
		}
		return c.names.Target(&runtimeapi.PodSandboxStatusRequest{PodSandboxId: event.GetPodSandboxStatus().GetId()}, nil)
	}
	return c.names.Target(c.request, answer)
}

// before does what rules say before the runtime is called, or goes on with a stream. It
// reports whether that ends the call, with the caller's error.
func (c *call) before(fired []*rules.Firing) (ended bool, err error) {
	for _, f := range fired {
		if err := wait(c.ctx, f.Delay); err != nil {
			return true, err
		}
		switch {
		case f.Hang:
			<-c.ctx.Done()
			return true, status.FromContextError(c.ctx.Err()).Err()
		case f.Lost != codes.OK && !c.what.Stream:
		case f.Error != codes.OK:
			c.closeIf(f)
			return true, failure(f.Error, f)
		case f.Close:
			c.closeIf(f)
			return true, failure(codes.Unavailable, f)
		case f.End && c.what.Stream:
			return true, nil
		}
	}
	return false, nil
}

// failure is the caller's error; without a message it names the rule.
func failure(code codes.Code, f *rules.Firing) error {
	return status.Error(code, cmp.Or(f.Message, fmt.Sprintf("rule %d of podctl proxy", f.Number)))
}

// closeIf closes the caller's connection if the rule says so.
func (c *call) closeIf(f *rules.Firing) {
	if f.Close && c.peer.conn != nil {
		_ = c.peer.conn.Close()
	}
}

// wait returns an error if ctx ends first.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
}

// unary passes a call with one answer.
func (c *call) unary(fired []*rules.Firing) error {
	answer, err := c.ask(fired)
	if err != nil {
		return err
	}
	for _, f := range fired {
		if f.Lost != codes.OK {
			c.closeIf(f)
			return failure(f.Lost, f)
		}
	}
	if answer, err = c.changed(answer, fired); err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	return c.caller.SendMsg(&answer)
}

// ask returns the answer of the runtime, or an old one.
func (c *call) ask(fired []*rules.Firing) ([]byte, error) {
	times, old := 1, time.Duration(0)
	for _, f := range fired {
		times, old = times+f.Repeat, max(old, f.Stale)
	}
	key, now := c.full+"\x00"+string(c.raw), c.options.Now()
	if old > 0 {
		if answer, ok := c.stale.get(key, now.Add(-old)); ok {
			return answer, nil
		}
	}
	var answer []byte
	for range times {
		var header, trailer metadata.MD
		err := c.runtime.Invoke(c.ctx, c.full, &c.raw, &answer, grpc.Header(&header), grpc.Trailer(&trailer))
		_ = c.caller.SetHeader(header)
		c.caller.SetTrailer(trailer)
		if err != nil {
			return nil, err
		}
	}
	if old > 0 {
		c.stale.put(key, answer, now)
	}
	return answer, nil
}

// changed returns an answer as the rules change it. One that cannot be read stays.
func (c *call) changed(data []byte, fired []*rules.Firing) ([]byte, error) {
	proto.Reset(c.answer)
	if proto.Unmarshal(data, c.answer) != nil {
		return data, nil
	}
	c.target(c.answer) // which learns its names
	if len(fired) == 0 {
		return data, nil
	}
	if err := c.edit(c.answer, fired); err != nil {
		return nil, err
	}
	return proto.Marshal(c.answer)
}
