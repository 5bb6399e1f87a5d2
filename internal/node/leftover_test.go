package node

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/podctl/podctl/internal/node/poddir"
	"github.com/podctl/podctl/internal/node/render"
	"github.com/podctl/podctl/internal/owners/owner"
	"github.com/podctl/podctl/internal/pod/testutil"
	"github.com/podctl/podctl/internal/sys/proc"
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
		f := &leftoverFinder{pods: newPodTable(nil), locks: locks, facts: facts, dirs: dirs}
		d, cache := wanted("uid-new", "new"), f.newCache(t.Context(), nil)
		return testing.AllocsPerRun(20, func() { f.ofName(d, cache) })
	}
	if few, many := work(10), work(1000); many != few {
		t.Errorf("%v allocations beside 10 log directories, %v beside 1000", few, many)
	}
}
