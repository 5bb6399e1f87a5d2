package look

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"
	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/cmd/podctl/internal/shell"
	"github.com/podctl/podctl/internal/desired/manifest"
	"github.com/podctl/podctl/internal/pods/target"
	"github.com/podctl/podctl/internal/pods/view"
)

// session is a connection to the runtime that finds containers.
type session struct{ *shell.Session }

// connect connects to the runtime.
func connect(ctx context.Context, e *shell.Env, g shell.Globals) (*session, error) {
	s, err := shell.ConnectSession(ctx, e, g)
	return &session{s}, err
}

// open connects to the runtime and lists it once, with the owners of its pods.
func open(ctx context.Context, e *shell.Env, g shell.Globals) (*session, error) {
	s, err := shell.OpenSession(ctx, e, g)
	return &session{s}, err
}

// readSpecs sets the objects of pods as ReadObjects does, and those of pods whose
// podctl process has exited from the manifests that it left in the runtime.
func (s *session) readSpecs(ctx context.Context, pods []*view.Pod) {
	s.ReadObjects(ctx, pods)
	var g errgroup.Group
	g.SetLimit(statusReads)
	for _, p := range pods {
		if p.Object == nil && p.Creator != "" && p.SandboxID() != "" {
			g.Go(func() error {
				if object, err := s.leftManifest(ctx, p); err == nil {
					p.Object = object
				}
				return nil
			})
		}
	}
	_ = g.Wait() // returns no error
}

// leftManifest returns the manifest that podctl left in the runtime, nil if there is
// none.
func (s *session) leftManifest(ctx context.Context, p *view.Pod) (*v1.Pod, error) {
	packed, _, err := s.Client.Manifest(ctx, p.SandboxID())
	if err != nil || packed == "" {
		return nil, err
	}
	object, _, err := manifest.Stored(packed)
	if err != nil {
		return nil, fmt.Errorf("manifest of pod %s: %w", p.DisplayName(), err)
	}
	return object, nil
}

// containers returns the containers that a query names, see target.Containers. Specs
// are read only if a default container depends on them, and statuses if it depends on them
// which attempt is the previous one.
func (s *session) containers(ctx context.Context, q target.Query) ([]target.Target, error) {
	s.readPrevious(ctx, q)
	found, err := target.Containers(s.Pods, q)
	var need []*view.Pod
	for _, t := range found {
		if target.NeedsSpec(t) {
			need = append(need, t.Pod)
		}
	}
	if len(need) == 0 {
		return found, err
	}
	s.readSpecs(ctx, need)
	if !slices.ContainsFunc(need, func(p *view.Pod) bool { return p.Object != nil }) {
		return found, err
	}
	return target.Containers(s.Pods, q)
}

// readPrevious sets the objects of the pods of whose containers the previous attempt
// depends on the status.
func (s *session) readPrevious(ctx context.Context, q target.Query) {
	if !q.Previous {
		return
	}
	q.Previous = false
	found, _ := target.Containers(s.Pods, q) // the caller finds the same errors
	var need []*view.Pod
	for _, t := range found {
		if target.NeedsStatus(t) {
			need = append(need, t.Pod)
		}
	}
	s.ReadObjects(ctx, need)
}

// one returns the container that a query names, see target.One.
func (s *session) one(ctx context.Context, q target.Query) (target.Target, error) {
	t, err := target.One(s.Pods, q)
	if err != nil || !target.NeedsSpec(t) {
		return t, err
	}
	if s.readSpecs(ctx, []*view.Pod{t.Pod}); t.Pod.Object == nil {
		return t, nil
	}
	return target.One(s.Pods, q)
}
