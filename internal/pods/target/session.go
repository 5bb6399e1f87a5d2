package target

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/desired/manifest"
	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/owners/control"
	"github.com/podctl/podctl/internal/pods/view"
)

// Session is a connection to the runtime, and what it listed the last time.
type Session struct {
	Client *cri.Client
	// Reader reads the pods, and asks their owners.
	Reader *view.Reader
	// Pods are all pods of the runtime and, after List, those of live podctl processes.
	Pods []*view.Pod
	// Answers are those of the owners of the pods, nil before List.
	Answers *owners.Answers
	// Close disconnects from the runtime.
	Close func()
}

// List lists the runtime, with the owners of its pods.
func (s *Session) List(ctx context.Context) error {
	s.Reader.Runtime = s.Client
	pods, answers, err := s.Reader.List(ctx, s.Client, s.Reader.Start(ctx))
	if err == nil {
		s.Pods, s.Answers = pods, answers
	}
	return err
}

// ListAlone lists the runtime, without the owners of its pods: to find them takes longer than
// the calls of the runtime.
func (s *Session) ListAlone(ctx context.Context) error {
	listed, err := s.Client.ListPods(ctx)
	if err == nil {
		s.Pods = view.Merge(listed, owners.NotAsked())
	}
	return err
}

// ManagerOf is a client of the podctl process that manages a pod.
func (s *Session) ManagerOf(p *view.Pod) *control.Client { return p.Manager.Client(s.Reader.Dial) }

// ListFor lists the runtime for a command that needs the containers which a query names; their
// owners are asked only if the answer depends on them.
func (s *Session) ListFor(ctx context.Context, q Query) error {
	if q.IsExact() { // else its pods may not be in the runtime yet
		if err := s.ListAlone(ctx); err != nil {
			return err
		}
		if found, err := Containers(s.Pods, q); err == nil && s.settled(q, found...) {
			return nil
		}
	}
	return s.List(ctx)
}

// Find lists the runtime and returns the container that a query names. The owners of pods are
// asked only if the answer depends on them.
func (s *Session) Find(ctx context.Context, q Query) (Target, error) {
	if err := s.ListAlone(ctx); err != nil {
		return Target{}, err
	}
	t, err := One(s.Pods, q)
	if err == nil && s.settled(q, t) {
		return t, nil
	}
	if err := s.List(ctx); err != nil {
		return t, err
	}
	return s.One(ctx, q)
}

// settled reports whether the owners of the pods cannot change what was found: no spec
// or status says which container is meant, and no pod that an owner reports may be meant instead,
// one of the same name or one of the namespace default.
func (s *Session) settled(q Query, found ...Target) bool {
	return !slices.ContainsFunc(found, func(t Target) bool {
		return needsSpec(t) || q.Previous && needsStatus(t) || q.Namespace == "" && t.Pod.Namespace != v1.NamespaceDefault ||
			slices.ContainsFunc(s.Pods, func(o *view.Pod) bool {
				return o != t.Pod && o.Name == t.Pod.Name && o.Namespace == t.Pod.Namespace
			})
	})
}

// One returns the container that a query names among the listed ones, see One.
func (s *Session) One(ctx context.Context, q Query) (Target, error) {
	t, err := One(s.Pods, q)
	if err != nil || !needsSpec(t) {
		return t, err
	}
	if s.ReadSpecs(ctx, []*view.Pod{t.Pod}); t.Pod.Object == nil {
		return t, nil
	}
	return One(s.Pods, q)
}

// Containers returns the containers that a query names among the listed ones, see Containers.
// Specs are read only if a default container depends on them, and statuses if it depends on
// them which attempt is the previous one.
func (s *Session) Containers(ctx context.Context, q Query) ([]Target, error) {
	s.ReadPrevious(ctx, q)
	found, err := Containers(s.Pods, q)
	need := podsOf(found, needsSpec)
	if s.ReadSpecs(ctx, need); !slices.ContainsFunc(need, func(p *view.Pod) bool { return p.Object != nil }) {
		return found, err
	}
	return Containers(s.Pods, q)
}

// ReadPrevious sets the objects of the pods of whose containers the previous attempt
// depends on the status.
func (s *Session) ReadPrevious(ctx context.Context, q Query) {
	if q.Previous {
		q.Previous = false
		found, _ := Containers(s.Pods, q) // the caller finds the same errors
		s.ReadObjects(ctx, podsOf(found, needsStatus))
	}
}

func podsOf(found []Target, need func(Target) bool) (pods []*view.Pod) {
	for _, t := range found {
		if need(t) {
			pods = append(pods, t.Pod)
		}
	}
	return pods
}

const (
	// objectsTimeout bounds the answers of podctl processes: without them pods are shown as
	// the runtime shows them.
	objectsTimeout = 2 * time.Second
	// parallelReads is how many pods are read at once.
	parallelReads = 16
)

// ReadObjects sets the objects of the pods of podctl processes, as far as these answer. Those
// of a kubelet are set already.
func (s *Session) ReadObjects(ctx context.Context, pods []*view.Pod) {
	ctx, cancel := context.WithTimeout(ctx, objectsTimeout)
	defer cancel()
	managed := map[string][]*view.Pod{} // by socket
	for _, p := range pods {
		if p.Managed() {
			managed[p.Manager.Socket] = append(managed[p.Manager.Socket], p)
		}
	}
	var asking sync.WaitGroup
	for _, pods := range managed {
		asking.Go(func() {
			list, err := s.ManagerOf(pods[0]).Pods(ctx)
			if err != nil {
				return
			}
			byUID := map[types.UID]*v1.Pod{}
			for i := range list.Items {
				byUID[list.Items[i].UID] = &list.Items[i]
			}
			for _, p := range pods {
				p.Object = byUID[p.GivenUID()]
			}
		})
	}
	asking.Wait()
}

// ReadSpecs sets the objects of pods as ReadObjects does, and those of pods whose
// podctl process has exited from the manifests that it left in the runtime.
func (s *Session) ReadSpecs(ctx context.Context, pods []*view.Pod) {
	s.ReadObjects(ctx, pods)
	var g errgroup.Group
	g.SetLimit(parallelReads)
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
func (s *Session) leftManifest(ctx context.Context, p *view.Pod) (*v1.Pod, error) {
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
