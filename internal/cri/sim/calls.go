package sim

import (
	"context"
	"slices"
	"strings"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
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

// String is the method and what it was about: "StartContainer default/web/app".
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

func (r *Runtime) record(ctx context.Context, method string, req any, s subject, at time.Time, err *error) {
	if !r.opts.Record {
		return
	}
	c := Call{
		Method: method, Request: req, Pod: s.pod, Container: s.container, Image: s.image,
		At: at, Took: r.opts.Clock().Sub(at), Err: *err,
	}
	if end, ok := ctx.Deadline(); ok {
		c.Allowed = end.Sub(at)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, c)
}

// subject is what a request is about, as far as it says.
type subject struct {
	pod, podName, container, image string
	ids                            []string
}

func (s subject) matches(match string) bool {
	return match == "" || match == s.pod || match == s.podName || match == s.container || match == s.image ||
		slices.Contains(s.ids, match)
}

func (s *subject) setPod(m *runtimeapi.PodSandboxMetadata) {
	if m != nil {
		s.pod, s.podName = m.Namespace+"/"+m.Name, m.Name
	}
}

// subjectOf looks up the names behind a request.
func (r *Runtime) subjectOf(req any) subject {
	r.mu.Lock()
	defer r.mu.Unlock()
	var s subject
	if q, ok := req.(interface{ GetContainerId() string }); ok {
		s.ids = append(s.ids, q.GetContainerId())
		if c := r.container(q.GetContainerId()); c != nil {
			s.container = c.config.GetMetadata().GetName()
			s.ids = append(s.ids, c.id, c.sandbox.id)
			s.setPod(c.sandbox.config.GetMetadata())
		}
	}
	if q, ok := req.(interface{ GetPodSandboxId() string }); ok {
		s.ids = append(s.ids, q.GetPodSandboxId())
		if sb := r.sandbox(q.GetPodSandboxId()); sb != nil {
			s.ids = append(s.ids, sb.id)
			s.setPod(sb.config.GetMetadata())
		}
	}
	if q, ok := req.(interface{ GetImage() *runtimeapi.ImageSpec }); ok {
		s.image = q.GetImage().GetImage()
	}
	switch q := req.(type) {
	case *runtimeapi.RunPodSandboxRequest:
		s.setPod(q.GetConfig().GetMetadata())
	case *runtimeapi.CreateContainerRequest:
		s.container = q.GetConfig().GetMetadata().GetName()
	case *runtimeapi.PullImageRequest:
		s.setPod(q.GetSandboxConfig().GetMetadata())
	}
	return s
}
