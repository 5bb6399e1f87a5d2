package node

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/podctl/podctl/internal/node/poddir"
	"github.com/podctl/podctl/internal/node/render"
	"github.com/podctl/podctl/internal/node/volume"
	"github.com/podctl/podctl/internal/owners/owner"
	"github.com/podctl/podctl/internal/sys/proc"
	"github.com/podctl/podctl/testkit/testutil"
)

// The log directories are read once for all pods that begin in one pass: what a pod of
// another name has costs it nothing.
func TestLeftoverCostDoesNotGrowWithPods(t *testing.T) {
	work := func(pods int) float64 {
		dir := t.TempDir()
		locks, err := owner.Open(filepath.Join(dir, "locks"), "agent", proc.FS(testutil.EmptyProc(t)))
		if err != nil {
			t.Fatal(err)
		}
		defer locks.Close()
		facts := &render.Node{PodsDir: filepath.Join(dir, "pods"), LogDir: filepath.Join(dir, "logs")}
		dirs := poddir.New(facts.PodsDir, locks.Runtime())
		facts.DirName = dirs.Name
		for i := range pods {
			if err := os.MkdirAll(filepath.Join(facts.LogDir, fmt.Sprintf("default_p%d_uid-%d", i, i)), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		f := &leftoverFinder{
			pods: newPodTable(nil), locks: locks, facts: facts, dirs: dirs, volumes: volume.NewNamed(dir, dirs.Name), log: slog.New(slog.DiscardHandler),
		}
		d, cache := wanted("uid-new", "new"), f.newCache(t.Context(), nil)
		return testing.AllocsPerRun(20, func() { f.ofName(d, cache) })
	}
	if few, many := work(10), work(1000); many != few {
		t.Errorf("%v allocations beside 10 log directories, %v beside 1000", few, many)
	}
}

// A podctl that was killed before the runtime had its pod leaves a directory, and no logs
// yet. The next one that has a pod of the name removes it, whatever its own name is.
func TestDirectoryWithoutLogsOfKilledPodctlIsRemoved(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		dir := filepath.Join(w.root, "pods", "uid-1")
		p := w.podctl("run-b")
		rec := poddir.Record{Owner: poddir.OwnerTag("run-a", p.locks.Runtime()), Namespace: "default", Name: "web"}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := poddir.WriteRecord(dir, rec); err != nil {
			t.Fatal(err)
		}
		p.want(podYAML("other", "sleep 3600"))
		p.until("other", "running", running)
		if _, err := os.Lstat(dir); err != nil {
			t.Errorf("the directory of a pod that nobody has asked for: %v", err)
		}
		p.want(podYAML("web", "sleep 3600"))
		p.until("web", "running", running)
		time.Sleep(5 * time.Second)
		if _, err := os.Lstat(dir); !os.IsNotExist(err) {
			t.Errorf("the directory of an earlier pod of the name is left: %v", err)
		}
		p.drain()
		w.empty()
	})
}
