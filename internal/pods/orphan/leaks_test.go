package orphan

import (
	"testing"
	"time"

	"github.com/podctl/podctl/internal/owners"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pods/leak"
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
			leak.Leak{ID: "/run/c/netns/cni-1", Evidence: "no sandbox has it", Things: []leak.Thing{{Kind: leak.Namespace, Path: "/run/c/netns/cni-1"}}},
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
