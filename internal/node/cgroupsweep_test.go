package node

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// leave makes cgroups that no pod of this node has.
func (w *world) leave(uids ...types.UID) {
	w.cgroups.mu.Lock()
	defer w.cgroups.mu.Unlock()
	for _, uid := range uids {
		w.cgroups.made[uid] = true
	}
}

// cgroupsOf are the UIDs that have a cgroup.
func (w *world) cgroupsOf() []types.UID {
	uids, _ := w.cgroups.List() // never fails
	return uids
}

// A cgroup is removed if no pod can have it: not one that the runtime holds, one with a
// directory, or one of another podctl process; and never while a process is in it.
func TestLeftoverCgroupsAreRemoved(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		asked := 0
		w.otherPods = func(context.Context) (map[types.UID]string, error) {
			asked++
			return map[types.UID]string{"of-another-podctl": "agent"}, nil
		}
		p := w.podctl("agent", podYAML("web", "sleep 3600", "terminationGracePeriodSeconds: 1"))
		web := p.until("web", "running", running).Pod.UID
		time.Sleep(time.Minute)
		synctest.Wait()
		if asked > 0 {
			t.Errorf("other podctl processes were asked %d times although no cgroup is left", asked)
		}
		p.foreign("other")
		dir := filepath.Join(w.root, "pods", "with-directory@another-runtime")
		if err := os.MkdirAll(dir, 0o750); err != nil {
			t.Fatal(err)
		}
		w.cgroups.mu.Lock()
		w.cgroups.busy = map[types.UID]bool{"busy": true}
		w.cgroups.mu.Unlock()
		w.leave("left", "busy", "of-another-podctl", "with-directory", "foreign-other")
		time.Sleep(time.Minute)
		synctest.Wait()
		want := []types.UID{"busy", "foreign-other", "of-another-podctl", "with-directory", web}
		slices.Sort(want)
		if got := w.cgroupsOf(); !slices.Equal(got, want) {
			t.Errorf("cgroups %v, want %v", got, want)
		}
		p.kill()
	})
}

func TestLeftoverCgroupsOfOtherPodctlAreKept(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		var answers atomic.Bool
		w.otherPods = func(context.Context) (map[types.UID]string, error) {
			if answers.Load() {
				return nil, nil
			}
			return nil, errors.New("podctl process run-x does not say which pods it owns")
		}
		w.leave("left")
		p := w.podctl("agent")
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := w.cgroupsOf(); !slices.Equal(got, []types.UID{"left"}) {
			t.Errorf("cgroups %v, want the one that may be of another podctl process", got)
		}
		answers.Store(true)
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := w.cgroupsOf(); len(got) > 0 {
			t.Errorf("cgroups %v, want none", got)
		}
		p.drain()
		w.empty()
	})
}

// A root that others may use, too, is not swept.
func TestCgroupsBelowSharedRootAreKept(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.leave("left")
		w.sharedCgroups = true
		p := w.podctl("agent")
		time.Sleep(time.Minute)
		synctest.Wait()
		if got := w.cgroupsOf(); len(got) != 1 {
			t.Errorf("cgroups %v, want the one that others may have", got)
		}
		p.kill()
	})
}
