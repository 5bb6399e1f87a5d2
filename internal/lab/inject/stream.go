package inject

import (
	"context"
	"errors"
	"io"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podctl/podctl/internal/lab/rules"
	"github.com/podctl/podctl/internal/lab/trace"
)

// Stream is a grpc.StreamServerInterceptor of calls with one request and many answers.
func (i *Injector) Stream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) error {
	s := &stream{ServerStream: ss, injector: i, what: i.callOf(ss.Context(), info.FullMethod, nil)}
	if s.end(); s.ended == nil {
		if err := handle(srv, s); s.ended == nil {
			return err
		}
	}
	if errors.Is(s.ended, io.EOF) {
		return nil
	}
	return s.ended
}

// stream is the caller's end of a call with many answers.
type stream struct {
	grpc.ServerStream
	injector *Injector
	what     rules.Call
	ended    error // by a rule; io.EOF without an error
}

// SendMsg sends a message as the rules say. One that is no proto.Message passes.
func (s *stream) SendMsg(m any) error {
	message, ok := m.(proto.Message)
	if !ok {
		return s.send(m, 1)
	}
	what := s.what
	what.Target, what.Message = s.injector.targetOf(message.ProtoReflect().Interface()), true
	fired := s.injector.decide(what)
	copies, drop := 1, false
	for _, f := range fired {
		if err := Wait(s.Context(), f.Delay); err != nil {
			return err
		}
		copies, drop = copies+f.Repeat, drop || f.Drop
	}
	if drop {
		return nil
	}
	changed, err := s.injector.edit(m, fired)
	if err != nil {
		return err
	}
	return s.send(changed, copies)
}

// send sends copies of a message until a rule ends the stream.
func (s *stream) send(m any, copies int) error {
	for range copies {
		if s.ended != nil {
			break
		}
		if err := s.ServerStream.SendMsg(m); err != nil {
			return err
		}
		s.what.Passed++
		s.end()
	}
	return s.ended
}

// end does what rules say of a stream of which as many messages have passed.
func (s *stream) end() {
	s.ended = s.injector.applyBefore(s.Context(), s.what, s.injector.decide(s.what))
}

// targetOf returns what a message of a stream is about.
func (i *Injector) targetOf(message proto.Message) trace.Target {
	event, ok := message.(*runtimeapi.ContainerEventResponse)
	if !ok {
		return i.options.Names.Target(nil, message)
	}
	if t := i.options.Names.Target(&runtimeapi.ContainerStatusRequest{ContainerId: event.GetContainerId()}, nil); t.Container != "" {
		return t
	}
	return i.options.Names.Target(&runtimeapi.PodSandboxStatusRequest{PodSandboxId: event.GetPodSandboxStatus().GetId()}, nil)
}

// Unary is a grpc.UnaryServerInterceptor. Requests and answers that are no proto.Message pass.
func (i *Injector) Unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (any, error) {
	request, ok := req.(proto.Message)
	if !ok {
		return handle(ctx, req)
	}
	c := i.callOf(ctx, info.FullMethod, request)
	fired := i.decide(c)
	if err := i.applyBefore(ctx, c, fired); err != nil {
		return nil, err
	}
	answer, err := i.answer(ctx, request, info.FullMethod, handle, fired)
	if err != nil {
		return nil, err
	}
	for _, f := range fired {
		if f.Lost != codes.OK {
			if err := i.endCall(ctx, f, f.Lost); err != nil {
				return nil, err
			}
		}
	}
	return i.edit(answer, fired)
}

// answer returns the answer of the handler, or a stale one if a rule that fired asks for it.
func (i *Injector) answer(ctx context.Context, request proto.Message, full string, handle grpc.UnaryHandler, fired []*rules.Firing) (answer any, err error) {
	times, old := 1, time.Duration(0)
	for _, f := range fired {
		times, old = times+f.Repeat, max(old, f.Stale)
	}
	var key string
	now := i.options.Now()
	if old > 0 {
		data, err := proto.MarshalOptions{Deterministic: true}.Marshal(request)
		if err != nil {
			return nil, err
		}
		key = full + "\x00" + string(data)
		if data, ok := i.stale.get(key, now.Add(-old)); ok {
			_, answer, _ := trace.MessagesOf(full)
			return answer, proto.Unmarshal(data, answer)
		}
	}
	for range times {
		if answer, err = handle(ctx, request); err != nil {
			return nil, err
		}
	}
	if message, ok := answer.(proto.Message); ok && old > 0 {
		data, err := proto.Marshal(message.ProtoReflect().Interface())
		if err != nil {
			return nil, err
		}
		i.stale.put(key, data, now)
	}
	return answer, nil
}
