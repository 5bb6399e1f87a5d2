package gc

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

// fake is a runtime that notes what is removed.
type fake struct {
	mu        sync.Mutex
	removed   []string
	available uint64
}

func (f *fake) did(what, id string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.removed = append(f.removed, what+" "+id)
	if id == "stuck" {
		return errors.New("no luck")
	}
	return nil
}

func (f *fake) RemoveContainer(_ context.Context, id string) error { return f.did("container", id) }
func (f *fake) StopContainer(_ context.Context, id string, grace time.Duration) error {
	return f.did("stop container "+grace.String(), id)
}
func (f *fake) StopPodSandbox(_ context.Context, id string) error   { return f.did("stop", id) }
func (f *fake) RemovePodSandbox(_ context.Context, id string) error { return f.did("sandbox", id) }
func (f *fake) RemoveImage(_ context.Context, id string) error      { return f.did("image", id) }
func (f *fake) Images(context.Context) ([]Image, error) {
	return []Image{{ID: "old", Size: 100}, {ID: "used", Size: 100, Used: true}}, nil
}
func (f *fake) ImageSpace(context.Context) (capacity, available uint64, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return 1000, f.available, nil
}

// The pods of others are left alone, and what cannot be removed does not keep
// the rest.
func TestCollectOwnContainers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		mine, other := make1("mine", "c-1:dead@2 c-0:dead@3 d-1:dead@2 d-0:lost@3"), make1("other", "c-1:dead@2 c-0:dead@3")
		for _, p := range []*pod.Pod{mine, other} {
			for _, c := range p.Containers {
				c.CreatedAt = time.Now() // it is another year in here
			}
			p.Sandboxes = []*pod.Sandbox{{ID: string(p.UID)}, {ID: "empty-" + string(p.UID)}, {ID: "stuck"}}
		}
		f := &fake{available: 500}
		c := New(Options{
			Runtime: f, Pods: func() []*pod.Pod { return []*pod.Pod{mine, other} },
			Mine:       func() map[types.UID]bool { return map[types.UID]bool{"mine": true} },
			Containers: Policy{MaxPerContainer: 1, MaxContainers: -1},
			Images:     ImagePolicy{High: 85, Low: 80, MinAge: 2 * time.Minute},
		})
		ctx, cancel := context.WithCancel(t.Context())
		go c.Run(ctx)
		time.Sleep(90 * time.Second)
		synctest.Wait()
		want := []string{"container mine/c-0", "stop container 30s mine/d-0", "container mine/d-0", "stop stuck", "stop empty-mine", "sandbox empty-mine"}
		if !slices.Equal(f.removed, want) {
			t.Errorf("removed %q, want %q", f.removed, want)
		}
		f.mu.Lock()
		f.removed, f.available = nil, 100
		f.mu.Unlock()
		time.Sleep(5 * time.Minute)
		synctest.Wait()
		cancel()
		synctest.Wait()
		if !slices.Contains(f.removed, "image old") || slices.Contains(f.removed, "image used") {
			t.Errorf("removed %q", f.removed)
		}
	})
}

func TestCollectEvictedPod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		evicted, kept := make1("evicted", "c-1:dead@2 c-0:dead@3"), make1("kept", "c-1:dead@2 c-0:dead@3")
		for _, p := range []*pod.Pod{evicted, kept} {
			for _, c := range p.Containers {
				c.CreatedAt = time.Now()
			}
			p.Sandboxes = []*pod.Sandbox{{ID: "dead-" + string(p.UID), State: pod.Exited}}
		}
		f := &fake{available: 500}
		both := map[types.UID]bool{"evicted": true, "kept": true}
		logs := 0
		c := New(Options{
			Runtime: f, Pods: func() []*pod.Pod { return []*pod.Pod{evicted, kept} },
			Mine: func() map[types.UID]bool { return both }, Evicted: func() map[types.UID]bool { return map[types.UID]bool{"evicted": true} },
			RemoveLogs: func(p *pod.Pod, _ *pod.Container) error {
				if p == nil {
					t.Error("logs of no pod")
				}
				logs++
				return nil
			},
			Containers: Policy{MaxPerContainer: 1, MaxContainers: -1},
		})
		c.collectContainers(t.Context())
		want := []string{"container evicted/c-0", "container evicted/c-1", "container kept/c-0", "stop dead-evicted", "sandbox dead-evicted"}
		if !slices.Equal(f.removed, want) || logs != 1 {
			t.Errorf("removed %v and the logs of %d containers, want %v and 1", f.removed, logs, want)
		}
	})
}
