package look

import (
	"context"
	"slices"

	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/inventory"
	"github.com/podctl/podctl/internal/target"
)

// openOne connects to the runtime and finds the container that a query names. It
// asks the owners of pods only if the answer depends on them: to find them takes
// longer than the calls of the runtime.
func openOne(ctx context.Context, e *shell.Env, g shell.Globals, q target.Query) (*session, target.Target, error) {
	client, disconnect, err := shell.Connect(ctx, e, g)
	if err != nil {
		return nil, target.Target{}, err
	}
	s := &session{Client: client, disconnect: disconnect}
	t, err := s.quickOne(ctx, e, g, q)
	if err != nil {
		s.Close()
		return nil, t, err
	}
	return s, t, nil
}

// quickOne lists the runtime and finds the container that a query names.
func (s *session) quickOne(ctx context.Context, e *shell.Env, g shell.Globals, q target.Query) (target.Target, error) {
	listed, err := s.Client.ListPods(ctx)
	if err != nil {
		return target.Target{}, err
	}
	s.Pods = inventory.Merge(listed, nil, func(*inventory.Pod) bool { return true })
	t, err := target.One(s.Pods, q)
	if err == nil && !target.NeedsSpec(t) && !s.hasTwin(t.Pod) {
		return t, nil
	}
	// A pod that is not found may be one that its owner reports.
	if s.Paths, err = g.Paths(s.Client.Endpoint()); err != nil {
		return t, err
	}
	s.reader = shell.NewReader(e, s.Paths.Locks)
	if err := s.list(ctx); err != nil {
		return t, err
	}
	return s.one(ctx, q)
}

// hasTwin reports whether another pod has the name: the owner's is meant.
func (s *session) hasTwin(p *inventory.Pod) bool {
	return slices.ContainsFunc(s.Pods, func(o *inventory.Pod) bool {
		return o != p && o.Name == p.Name && o.Namespace == p.Namespace
	})
}
