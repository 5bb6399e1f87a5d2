package sim

import (
	"context"
	"path"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Fault says which calls go wrong, and how.
type Fault struct {
	// Method is the CRI's name of the call, "" for every call.
	Method string
	// Match is the name of a container, a pod (also namespace/name) or an
	// image, or an id, that the call must be about; "" for any.
	Match string
	// Skip lets that many matching calls pass first.
	Skip int
	// Times is how many calls are hit, zero means one, less than zero every one.
	Times int

	// Delay is waited before the call is carried out.
	Delay time.Duration
	// Hang waits until the fault is released or the caller gives up.
	Hang bool
	// Err is answered: a gRPC status, or anything, which becomes code Unknown.
	Err error
	// After carries the call out before Hang and Err: an answer that is lost.
	After bool
}

type fault struct {
	Fault
	released chan struct{}
}

// Inject adds a fault. The function that it returns ends it, and lets the
// calls go that hang in it.
func (r *Runtime) Inject(f Fault) (release func()) {
	if f.Times == 0 {
		f.Times = 1
	}
	x := &fault{Fault: f, released: make(chan struct{})}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.faults = append(r.faults, x)
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if i := slices.Index(r.faults, x); i >= 0 {
			r.faults = slices.Delete(r.faults, i, i+1)
		}
		select {
		case <-x.released:
		default:
			close(x.released)
		}
	}
}

// FailNext makes the next matching call fail, without effect.
func (r *Runtime) FailNext(method, match string, err error) {
	r.Inject(Fault{Method: method, Match: match, Err: err})
}

// Hang makes every matching call hang before it does anything.
func (r *Runtime) Hang(method, match string) (release func()) {
	return r.Inject(Fault{Method: method, Match: match, Hang: true, Times: -1})
}

// Delay makes every matching call take that much longer.
func (r *Runtime) Delay(method, match string, d time.Duration) (release func()) {
	return r.Inject(Fault{Method: method, Match: match, Delay: d, Times: -1})
}

// faultFor takes the first fault that hits the call, and counts it.
func (r *Runtime) faultFor(method string, subject subject) *fault {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range r.faults {
		if f.Times == 0 || f.Method != "" && f.Method != method || !subject.matches(f.Match) {
			continue
		}
		if f.Skip > 0 {
			f.Skip--
			continue
		}
		if f.Times > 0 {
			f.Times--
		}
		return f
	}
	return nil
}

// intercept records a call, applies its fault and carries it out.
func (r *Runtime) intercept(ctx context.Context, req any, info *grpc.UnaryServerInfo, handle grpc.UnaryHandler) (resp any, err error) {
	method := path.Base(info.FullMethod)
	subject := r.subjectOf(req)
	defer r.record(ctx, method, req, subject, r.opts.Clock(), &err)
	f := r.faultFor(method, subject)
	if f == nil {
		return handle(ctx, req)
	}
	if err := sleep(ctx, f.Delay); err != nil {
		return nil, err
	}
	if f.After {
		if resp, err = handle(ctx, req); err != nil {
			return nil, err
		}
	}
	if f.Hang {
		select {
		case <-f.released:
		case <-ctx.Done():
			return nil, status.FromContextError(ctx.Err()).Err()
		}
	}
	if f.Err != nil {
		return nil, f.Err
	}
	if f.After {
		return resp, nil
	}
	return handle(ctx, req)
}

// interceptStream does the same for the stream of events.
func (r *Runtime) interceptStream(srv any, ss grpc.ServerStream, info *grpc.StreamServerInfo, handle grpc.StreamHandler) (err error) {
	method := path.Base(info.FullMethod)
	defer r.record(ss.Context(), method, nil, subject{}, r.opts.Clock(), &err)
	if f := r.faultFor(method, subject{}); f != nil {
		if err := sleep(ss.Context(), f.Delay); err != nil {
			return err
		}
		if f.Err != nil {
			return f.Err
		}
	}
	return handle(srv, ss)
}

// sleep waits, or answers what a server answers whose caller gave up.
func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return status.FromContextError(ctx.Err()).Err()
	}
}

func errorf(code codes.Code, format string, args ...any) error {
	return status.Errorf(code, format, args...)
}
