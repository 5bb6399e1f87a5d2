package node

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/node/lifecycle"
	"github.com/podctl/podctl/internal/owners/owner"
	"github.com/podctl/podctl/internal/pod"
)

// A pod of a podctl process that reaches the runtime by another endpoint is neither
// adopted nor stopped, also where its locks are not those of this process.
func TestPodOwnedElsewhereIsLeftAlone(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		const v1, v2 = "sleep 3600", "sleep 7200"
		grace := "terminationGracePeriodSeconds: 1"
		a := w.podctl("agent", podYAML("web", v1, grace), fixUID("api", podYAML("api", v1, grace)))
		a.until("web", "running", running)
		a.until("api", "running", running)
		var lives, unreadable atomic.Bool
		lives.Store(true)
		w.locks, w.owners = "alias", func(context.Context, []*pod.Pod) (Owners, error) {
			if unreadable.Load() {
				return nil, errors.New("permission denied")
			}
			return func(p *pod.Pod) error {
				if !lives.Load() {
					return nil
				}
				return &owner.HeldError{What: p.FullName(), Owner: "agent", Endpoint: "unix:///run/a.sock"}
			}, nil
		}
		// The same name with another UID, and the same UID with another document.
		b := w.podctl("agent", podYAML("web", v2, grace), fixUID("api", podYAML("api", v2, grace)))
		for _, name := range []string{"web", "api"} {
			i := b.until(name, "waiting", waits(lifecycle.NameHeld))
			if text := i.Rejected.Error(); !strings.Contains(text, `"agent", which uses this runtime by unix:///run/a.sock`) {
				t.Errorf("%s waits without naming the owner: %s", name, text)
			}
		}
		unreadable.Store(true)
		time.Sleep(30 * time.Second)
		if got := w.calls("StopContainer", "RunPodSandbox"); len(got) != 2 {
			t.Errorf("calls: %v", got)
		}
		a.kill()
		unreadable.Store(false)
		lives.Store(false)
		b.until("web", "replaced", running)
		b.drain()
	})
}

// A podctl process with another run directory has other locks: it has the directory of
// a pod that it starts before the runtime lists the pod.
func TestDirectoryOfOtherRunDirIsKept(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		release := w.sim.Inject("method=RunPodSandbox hang")
		a := w.podctl("agent", podYAML("web", "sleep 1", job), podYAML("api", "sleep 1", job))
		time.Sleep(time.Second)
		dirs := func() int {
			entries, err := os.ReadDir(filepath.Join(w.root, "pods"))
			if err != nil {
				t.Fatal(err)
			}
			return len(entries)
		}
		theirs := map[types.UID]string{}
		for _, i := range a.Pods() {
			theirs[i.Pod.UID] = "agent"
		}
		if len(theirs) != 2 || dirs() != 2 {
			t.Fatalf("%d pods, %d directories", len(theirs), dirs())
		}
		var unknown, gone atomic.Bool
		w.locks, w.otherPods = filepath.Join("other", "locks"), func(context.Context) (map[types.UID]string, error) {
			switch {
			case unknown.Load():
				return nil, errors.New("a podctl process does not say which pods it owns")
			case gone.Load():
				return nil, nil
			}
			return theirs, nil
		}
		b := w.podctl("agent", podYAML("web", "sleep 3600", job))
		time.Sleep(30 * time.Second)
		if n := dirs(); n != 2 {
			t.Errorf("%d directories beside the process that has two of them", n)
		}
		unknown.Store(true)
		time.Sleep(30 * time.Second)
		if n := dirs(); n != 2 {
			t.Errorf("%d directories beside one that does not answer", n)
		}
		a.client.Close()
		a.kill()
		unknown.Store(false)
		gone.Store(true)
		time.Sleep(30 * time.Second)
		if n := dirs(); n != 0 {
			t.Errorf("%d directories after it has gone", n)
		}
		release()
		b.until("web", "running", running)
		b.drain()
	})
}

// Which pods other processes have, if they are not seen, matters only for what this one
// did not make itself.
func TestOwnPodsAreRemovedBesideUnseenProcesses(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.otherPods = func(context.Context) (map[types.UID]string, error) { return nil, &owner.UnseenError{} }
		a := w.podctl("agent", podYAML("web", "sleep 3600", "terminationGracePeriodSeconds: 1"))
		a.until("web", "running", running)
		a.want()
		time.Sleep(30 * time.Second)
		for _, dir := range []string{"pods", "logs"} {
			if left, _ := os.ReadDir(filepath.Join(w.root, dir)); len(left) > 0 {
				t.Errorf("left in %s: %v", dir, left)
			}
		}
		a.drain()
		w.empty()
	})
}

// Until its sources are read and what the runtime held is adopted, the pods of a node
// are more than it names.
func TestNodeSettlesAfterAdoption(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		a := w.podctl("agent", podYAML("web", "sleep 3600"), podYAML("api", "sleep 3600"))
		a.until("web", "running", running)
		a.until("api", "running", running)
		if !a.Settled() {
			t.Error("one that runs its pods is not settled")
		}
		a.kill()
		var unreadable atomic.Bool
		unreadable.Store(true)
		w.owners = func(context.Context, []*pod.Pod) (Owners, error) {
			if unreadable.Load() {
				return nil, errors.New("permission denied")
			}
			return func(*pod.Pod) error { return nil }, nil
		}
		w.partly = true
		b := w.podctl("agent", podYAML("web", "sleep 3600"))
		time.Sleep(10 * time.Second)
		if b.Settled() {
			t.Error("one that does not know the owners of pods is settled")
		}
		unreadable.Store(false)
		b.until("web", "running", running)
		b.until("api", "kept, as it may be of the source that is not read", running)
		time.Sleep(10 * time.Second)
		if !b.Settled() {
			t.Error("one that has adopted all its pods is not settled")
		}
		b.Set(testSource, nil, nil)
		b.drain()
	})
}
