package sim

import (
	"context"
	"slices"
	"strings"
	"time"

	"google.golang.org/protobuf/proto"
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
