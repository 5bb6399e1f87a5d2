package userns

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

// plain names the directory of a pod by its UID.
func plain(uid types.UID) string { return string(uid) }

func aRoot(t *testing.T, pods ...string) string {
	t.Helper()
	root := t.TempDir()
	for _, uid := range append(pods, "") {
		if err := os.MkdirAll(filepath.Join(root, "pods", uid), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func rangeOf(t *testing.T, root string, uid types.UID) uint32 {
	t.Helper()
	first, length, err := New(root, plain).Of(t.Context(), uid)
	if err != nil || length != 65536 {
		t.Fatalf("%d, %d, %v", first, length, err)
	}
	return first
}

func TestRangesAreUniqueAndStable(t *testing.T) {
	root := aRoot(t, "a", "b", "c")
	for range 2 { // again by another podctl
		for i, uid := range []types.UID{"a", "b", "c"} {
			if got, want := rangeOf(t, root, uid), uint32(i+1)*65536; got != want {
				t.Errorf("%s has %d, want %d", uid, got, want)
			}
		}
	}
}

func TestRangeIsFreedWithDirectory(t *testing.T) {
	root := aRoot(t, "a", "b", "c")
	rangeOf(t, root, "a")
	rangeOf(t, root, "b")
	if err := os.RemoveAll(filepath.Join(root, "pods/a")); err != nil {
		t.Fatal(err)
	}
	if got := rangeOf(t, root, "c"); got != 65536 {
		t.Errorf("c has %d, want that of a", got)
	}
}

func TestRangeFileMatchesKubelet(t *testing.T) {
	root := aRoot(t, "a")
	rangeOf(t, root, "a")
	const want = `{"uidMappings":[{"hostId":65536,"containerId":0,"length":65536}],"gidMappings":[{"hostId":65536,"containerId":0,"length":65536}]}`
	if b, err := os.ReadFile(filepath.Join(root, "pods/a/userns")); err != nil || string(b) != want {
		t.Errorf("%s, %v\nwant %s", b, err, want)
	}
}

func TestForeignRangeFileIsRefused(t *testing.T) {
	one := func(host, container, length int) string {
		return fmt.Sprintf(`[{"hostId":%d,"containerId":%d,"length":%d}]`, host, container, length)
	}
	good := one(65536, 0, 65536)
	for name, test := range map[string]struct{ uids, gids, want string }{
		"no json":            {"x", "", "invalid character"},
		"none":               {"[]", "[]", "not one range"},
		"different groups":   {good, one(131072, 0, 65536), "not one range"},
		"without root":       {one(65536, 1, 65536), one(65536, 1, 65536), "begin with id 0"},
		"another length":     {one(65536, 0, 10), one(65536, 0, 10), "10 ids"},
		"between two ranges": {one(65537, 0, 65536), one(65537, 0, 65536), "65537 is not"},
		"the host's users":   {one(0, 0, 65536), one(0, 0, 65536), "0 is not"},
	} {
		t.Run(name, func(t *testing.T) {
			root := aRoot(t, "a", "b")
			content := fmt.Sprintf(`{"uidMappings":%s,"gidMappings":%s}`, test.uids, test.gids)
			if err := os.WriteFile(filepath.Join(root, "pods/a/userns"), []byte(content), 0o644); err != nil {
				t.Fatal(err)
			}
			for _, uid := range []types.UID{"a", "b"} { // it might be b's range, too
				if _, _, err := New(root, plain).Of(t.Context(), uid); err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("%s: error %v, want %q", uid, err, test.want)
				}
			}
		})
	}
}

func TestDuplicateRangeIsAnError(t *testing.T) {
	root := aRoot(t, "a", "b")
	rangeOf(t, root, "a")
	content, err := os.ReadFile(filepath.Join(root, "pods/a/userns"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(root, "pods/b/userns"), content, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, _, err := New(root, plain).Of(t.Context(), "a"); err == nil {
		t.Error("no error")
	}
}

func TestForeignDirectoriesAreIgnored(t *testing.T) {
	root := aRoot(t, "a", "without")
	if err := os.WriteFile(filepath.Join(root, "pods/file"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if got := rangeOf(t, root, "a"); got != 65536 {
		t.Errorf("a has %d", got)
	}
}

func TestNoDirectoryNoRange(t *testing.T) {
	root := aRoot(t)
	if _, _, err := New(root, plain).Of(t.Context(), "a"); err == nil {
		t.Error("no error")
	}
}

// TestConcurrentAllocation: each is a process of its own,
// so each has its own Ranges.
func TestConcurrentAllocation(t *testing.T) {
	const pods = 20
	var names []string
	for i := range pods {
		names = append(names, fmt.Sprint("pod", i))
	}
	root := aRoot(t, names...)
	given := make([]uint32, pods)
	var all sync.WaitGroup
	for i, name := range names {
		all.Go(func() {
			first, _, err := New(root, plain).Of(t.Context(), types.UID(name))
			if err != nil {
				t.Error(err)
			}
			given[i] = first
		})
	}
	all.Wait()
	seen := map[uint32]bool{}
	for _, first := range given {
		if seen[first] {
			t.Errorf("%d was given twice", first)
		}
		seen[first] = true
	}
}

func TestRangesAreExhausted(t *testing.T) {
	taken := map[string]uint32{}
	for first := uint64(65536); first < 1<<32-65536; first += 65536 {
		taken[fmt.Sprint(first)] = uint32(first)
	}
	first, err := lowestFree(taken)
	if err != nil || first != 1<<32-65536 {
		t.Fatalf("%d, %v", first, err)
	}
	taken["last"] = first
	if _, err := lowestFree(taken); err == nil {
		t.Error("a range was given that is taken")
	}
}
