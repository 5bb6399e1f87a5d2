package look

import (
	"context"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/pods/target"
	"github.com/podctl/podctl/internal/pods/view"
)

// openOne connects to the runtime and finds the container that a query names. It
// asks the owners of pods only if the answer depends on them: to find them takes
// longer than the calls of the runtime.
func openOne(ctx context.Context, e *shell.Env, g shell.Globals, q target.Query) (*session, target.Target, error) {
	s, err := connect(ctx, e, g)
	if err != nil {
		return nil, target.Target{}, err
	}
	t, err := s.quickOne(ctx, e, g, q)
	if err != nil {
		s.Close()
		return nil, t, err
	}
	return s, t, nil
}

// quickOne lists the runtime and finds the container that a query names.
func (s *session) quickOne(ctx context.Context, e *shell.Env, g shell.Globals, q target.Query) (target.Target, error) {
	if err := s.ListAlone(ctx); err != nil {
		return target.Target{}, err
	}
	t, err := target.One(s.Pods, q)
	if err == nil && s.settled(q, t) {
		return t, nil
	}
	if err := s.ListOwned(ctx, e, g); err != nil {
		return t, err
	}
	return s.one(ctx, q)
}

// openNamed is open for a command that needs the containers which a query names, and
// their owners only if the answer depends on them.
func openNamed(ctx context.Context, e *shell.Env, g shell.Globals, q target.Query) (*session, error) {
	if !q.IsExact() {
		return open(ctx, e, g) // its pods may not be in the runtime yet
	}
	s, err := connect(ctx, e, g)
	if err != nil {
		return nil, err
	}
	if err = s.ListAlone(ctx); err == nil {
		if found, err := target.Containers(s.Pods, q); err == nil && s.settled(q, found...) {
			return s, nil
		}
		err = s.ListOwned(ctx, e, g)
	}
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// settled reports whether the owners of the pods cannot change what was found: no spec
// or status says which container is meant, and no pod that an owner reports may be meant instead,
// one of the same name or one of the namespace default.
func (s *session) settled(q target.Query, found ...target.Target) bool {
	return !slices.ContainsFunc(found, func(t target.Target) bool {
		return target.NeedsSpec(t) || q.Previous && target.NeedsStatus(t) || q.Namespace == "" && t.Pod.Namespace != v1.NamespaceDefault ||
			slices.ContainsFunc(s.Pods, func(o *view.Pod) bool {
				return o != t.Pod && o.Name == t.Pod.Name && o.Namespace == t.Pod.Namespace
			})
	})
}
