package node

import (
	"log/slog"
	"os"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/node/lifecycle"
	"github.com/podctl/podctl/internal/owners/owner"
	"github.com/podctl/podctl/internal/pod/event"
	"github.com/podctl/podctl/internal/sys/proc"
	"github.com/podctl/podctl/testkit/testutil"
)

func TestNameStaysLockedBetweenPods(t *testing.T) {
	dir := t.TempDir()
	locks, err := owner.Open(dir, "run-a", proc.FS(testutil.EmptyProc(t)))
	if err != nil {
		t.Fatal(err)
	}
	defer locks.Close()
	pods := newPodTable(nil)
	names := nameLocks{pods: pods, locks: locks, host: StaticHost{}, log: slog.New(slog.DiscardHandler)}
	const name = "web_default"
	enter := func(uid types.UID, phase lifecycle.Phase) {
		if err := locks.Claim(name); err != nil {
			t.Error(err)
		}
		pods.install(uid, lifecycle.Entry{Desired: wanted(string(uid), "web"), Phase: phase}, false, &work{})
	}
	held := func() bool {
		names.release(name)
		_, held, err := owner.HolderOf(dir, name)
		if err != nil {
			t.Fatal(err)
		}
		return held
	}
	enter("u1", lifecycle.Removing)
	enter("u2", lifecycle.Starting)
	pods.install("u1", lifecycle.Entry{}, false, &work{})
	if !held() {
		t.Error("the name was released while the next pod starts")
	}
	pods.entries["u2"].Phase = lifecycle.Waiting
	if held() {
		t.Error("the name is held for a pod that waits")
	}
}

// While the runtime does not answer, nothing starts, and names are not kept
// from others.
func TestNameOfWaitingPodIsReleased(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		p := w.podctl("run-a")
		w.sim.Crash()
		p.want(podYAML("web", "sleep 3600", "terminationGracePeriodSeconds: 1"))
		time.Sleep(5 * time.Second)
		if _, held, err := owner.HolderOf(w.root+"/locks", "web_default"); err != nil || held {
			t.Errorf("held: %v, %v", held, err)
		}
		w.sim.Restart()
		p.until("web", "running", running)
		p.drain()
		w.empty()
	})
}

// The run directory is deleted under a living podctl: what it manages stays its
// own.
func TestDeletedRunDirectoryIsRestored(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		web := podYAML("web", "sleep 3600", "terminationGracePeriodSeconds: 1")
		a := w.podctl("agent", web)
		first := a.until("web", "running", running)
		if err := os.RemoveAll(w.root + "/locks"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * housekeepingPeriod)
		if !slices.Contains(a.reasons(), event.RunDirectoryRestored) {
			t.Errorf("events: %v", a.reasons())
		}
		b := w.podctl("run-b", web)
		b.until("web", "waiting", waits(lifecycle.NameHeld))
		b.drain()
		a.want(web, podYAML("db", "sleep 3600", "terminationGracePeriodSeconds: 1"))
		a.until("db", "running", running)
		if i := a.until("web", "running on", running); i.Status.ContainerStatuses[0].ContainerID != first.Status.ContainerStatuses[0].ContainerID {
			t.Error("web was restarted")
		}
		a.drain()
		w.empty()
	})
}
