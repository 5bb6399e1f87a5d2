package sim

import (
	"context"
	"path"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/podctl/podctl/internal/lab/rules"
)

// Call is one call that the runtime answered.
type Call struct {
	Method  string
	Request any // the CRI's request message; nil for streams
	// Pod is namespace/name, Container the container's name, Image the image,
	// where the call was about one.
	Pod, Container, Image string
	// At is when it arrived, Took how long it lasted.
	At   time.Time
	Took time.Duration
	// Allowed is how long the caller meant to wait, zero for ever.
	Allowed time.Duration
	Err     error
}

// String returns the method and what it was about: "StartContainer default/web/app".
func (c Call) String() string {
	var about []string
	for _, s := range []string{c.Pod, c.Container, c.Image} {
		if s != "" {
			about = append(about, s)
		}
	}
	return strings.TrimSuffix(c.Method+" "+strings.Join(about, "/"), " ")
}

// Calls returns the calls of the given methods, all without one, that have ended, in
// the order in which they began: one whose caller gave up may end after the caller's
// next. Options.Record must be set.
func (r *Runtime) Calls(methods ...string) []Call {
	r.mu.Lock()
	defer r.mu.Unlock()
	var calls []Call
	for _, c := range r.calls {
		if len(methods) == 0 || slices.Contains(methods, c.Method) {
			calls = append(calls, c)
		}
	}
	slices.SortStableFunc(calls, func(a, b Call) int { return a.At.Compare(b.At) })
	return calls
}

// ClearCalls forgets the calls recorded so far.
func (r *Runtime) ClearCalls() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = nil
}

func (r *Runtime) record(ctx context.Context, method string, req any, at time.Time, err *error) {
	if !r.opts.Record {
		return
	}
	request, _ := req.(proto.Message)
	t := r.known.Target(request, nil)
	c := Call{
		Method: method, Request: req, Container: t.Container, Image: t.Image,
		At: at, Took: r.opts.Clock().Sub(at), Err: *err,
	}
	if t.Pod != "" {
		c.Pod = t.Namespace + "/" + t.Pod
	}
	if end, ok := ctx.Deadline(); ok {
		c.Allowed = end.Sub(at)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, c)
}

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
