package inject

import (
	"context"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	"github.com/podctl/podctl/internal/lab/rules"
	"github.com/podctl/podctl/internal/lab/trace"
)

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
