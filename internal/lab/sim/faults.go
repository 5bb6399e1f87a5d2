package sim

import (
	"context"
	"path"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/podctl/podctl/internal/lab/rules"
)

// Inject adds rules as podctl proxy --inject takes them. It panics if one is invalid. remove removes
// them; calls that hang because of them go on.
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

// InjectRules is like Inject but adds parsed rules.
func (r *Runtime) InjectRules(all ...rules.Rule) (remove func()) {
	remove, err := r.Faults.Add(all...)
	if err != nil {
		panic(err)
	}
	return remove
}

// intercept is a grpc.UnaryServerInterceptor that records calls and applies the rules.
func (r *Runtime) intercept(ctx context.Context, req any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (resp any, err error) {
	defer r.record(ctx, path.Base(info.FullMethod), req, r.opts.Clock(), &err)
	return r.Faults.Unary(ctx, req, info, handle)
}

// interceptStream is the grpc.StreamServerInterceptor that does the same.
func (r *Runtime) interceptStream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) (err error) {
	defer r.record(ss.Context(), path.Base(info.FullMethod), nil, r.opts.Clock(), &err)
	return r.Faults.Stream(srv, ss, info, handle)
}

func errorf(code codes.Code, format string, args ...any) error {
	return status.Errorf(code, format, args...)
}
