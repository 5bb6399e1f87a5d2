package sim

import (
	"context"
	"path"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/podctl/podctl/internal/lab/rules"
	"github.com/podctl/podctl/internal/lab/trace"
)

// Inject has calls go wrong by rules as podctl proxy --inject takes them; one that is none
// panics. remove removes them, and lets go on the calls that hang by them.
func (r *Runtime) Inject(texts ...string) (remove func()) {
	var all []rules.Rule
	for _, text := range texts {
		rule, err := rules.Parse("rule", text)
		if err != nil {
			panic(err)
		}
		all = append(all, rule)
	}
	return r.InjectRules(all...)
}

// InjectRules is Inject for rules that have no text.
func (r *Runtime) InjectRules(all ...rules.Rule) (remove func()) {
	remove, err := r.Faults.Add(all...)
	if err != nil {
		panic(err)
	}
	return remove
}

// intercept records a call, and carries it out as the rules say.
func (r *Runtime) intercept(ctx context.Context, req any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (resp any, err error) {
	request, _ := req.(proto.Message)
	defer r.record(ctx, path.Base(info.FullMethod), req, r.known.Target(request, nil), r.opts.Clock(), &err)
	return r.Faults.Unary(ctx, req, info, handle)
}

// interceptStream does the same for streams.
func (r *Runtime) interceptStream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) (err error) {
	defer r.record(ss.Context(), path.Base(info.FullMethod), nil, trace.Target{}, r.opts.Clock(), &err)
	return r.Faults.Stream(srv, ss, info, handle)
}

func errorf(code codes.Code, format string, args ...any) error {
	return status.Errorf(code, format, args...)
}
