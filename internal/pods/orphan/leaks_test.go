package orphan

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/lab/sim"
	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/leak"
	"github.com/podctl/podctl/internal/sys/proc"
)

func TestLeakIsAnOrphan(t *testing.T) {
	shim := leak.Thing{Kind: leak.Shim, PID: 8, Name: "shim", Since: lunch}
	mounts := []leak.Thing{shim, {Kind: leak.Mount, Path: "/a/rootfs", Since: lunch.Add(-time.Hour)}, {Kind: leak.Mount, Path: "/b/rootfs"}}
	for _, c := range []struct {
		leak             leak.Leak
		title, name, why string
	}{
		{
			leak.Leak{ID: "3f9c1b2a44d0e7788", Pod: pod.Identity{Namespace: "default", Name: "web", UID: "u"}, Evidence: "its shim serves /run/c.sock", Things: mounts},
			"default/web", "u", "shim shim (pid 8), 2 mounts of 3f9c1b2a44d0e, which the runtime does not list; its shim serves /run/c.sock",
		},
		{
			leak.Leak{ID: "u", Pod: pod.Identity{UID: "u"}, Evidence: "it is below podctl-1a", Things: []leak.Thing{{Kind: leak.Cgroup, Pod: "u", Path: "/podctl-1a/podu"}}},
			"u", "u", "cgroup podu of a pod that nobody has; it is below podctl-1a",
		},
		{
			leak.Leak{ID: "/run/c/netns/cni-1", Evidence: "no sandbox has it", Things: []leak.Thing{{Kind: leak.NetworkNamespace, Path: "/run/c/netns/cni-1"}}},
			"cni-1", "/run/c/netns/cni-1", "network namespace cni-1 of no sandbox; no sandbox has it",
		},
	} {
		found := Classify(Facts{Answers: &owners.Answers{}, Leaks: leak.Findings{Leaks: []leak.Leak{c.leak}}}).Orphans
		if len(found) != 1 || found[0].Class != Leaked || !found[0].Running() {
			t.Fatalf("%+v", found)
		}
		if o := found[0]; o.Title() != c.title || o.CLIName() != c.name || o.Why != c.why {
			t.Errorf("%s, %s: %s\nwant %s, %s: %s", o.Title(), o.CLIName(), o.Why, c.title, c.name, c.why)
		}
	}
	if since := (leak.Leak{Things: mounts}).Since(); !since.Equal(lunch.Add(-time.Hour)) {
		t.Errorf("since %v", since)
	}
}

// A cgroup has the UID of its pod only; the pod's directory has the name.
func TestLeakIsNamedByTheDirectoryOfItsPod(t *testing.T) {
	cgroup := leak.Leak{ID: "u", Pod: pod.Identity{UID: "u"}, Things: []leak.Thing{{Kind: leak.Cgroup, Pod: "u", Path: "/podctl-1a/podu"}}}
	for _, c := range []struct {
		dir  Dir
		want string
	}{
		{Dir{UID: "u", Namespace: "default", Name: "web"}, "default/web"},
		{Dir{UID: "u", Namespace: "default", Name: "web", Keep: "a podctl process of another runtime has it"}, "u"},
		{Dir{UID: "v", Namespace: "default", Name: "web"}, "u"},
	} {
		found := Classify(Facts{Answers: &owners.Answers{}, Dirs: []Dir{c.dir}, DirsUnknown: "not read", Leaks: leak.Findings{Leaks: []leak.Leak{cgroup}}}).Orphans
		if len(found) != 1 || found[0].Title() != c.want {
			t.Errorf("%+v: %+v, want %s", c.dir, found, c.want)
		}
	}
}

// Leaks whose turn it is at the same time are looked for once. What cannot be looked for again is not
// said to be gone.
func TestLeaksThatAreRemovedTogetherShareALook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rt := sim.New(sim.Options{Record: true}) // without a process, so that nothing is looked at
		defer rt.Close()
		client, err := cri.Connect(t.Context(), cri.Options{Endpoint: cri.Endpoint{Runtime: cri.SimEndpoint}, Dial: rt.Dial})
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		procs := t.TempDir()
		if err := os.WriteFile(filepath.Join(procs, "locks"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		f := Finder{
			Asker: owners.Asker{Locks: t.TempDir(), Procs: proc.FS(procs)}, Client: client, SkipDirs: true,
			Leaks: &leak.Finder{Client: client, Now: time.Now},
		}
		k := Killer{Finder: &f}
		rt.Inject("method=ListPodSandbox delay=1s") // so that those that come later are there before a look ends
		lists := func(leaks int) int {
			rt.ClearCalls()
			var killing sync.WaitGroup
			for range leaks {
				killing.Go(func() {
					result, _, err := k.Kill(t.Context(), Orphan{Leak: &leak.Leak{ID: "a"}}, nil)
					if result != Failed || err == nil || !strings.HasPrefix(err.Error(), "leaks cannot be looked for again: ") {
						t.Errorf("%s, %v", result, err)
					}
				})
			}
			killing.Wait()
			return len(rt.Calls("ListPodSandbox"))
		}
		if one, many := lists(1), lists(20); one == 0 || many > 2*one {
			t.Errorf("%d lists for one leak, %d for 20", one, many)
		}
	})
}
