package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/podctl/podctl/internal/cri"
)

// Two podctls must not manage the pods of one runtime because they spell its
// socket in two ways, nor share cgroups when there are two runtimes.
func TestRuntimeHasOneIDHoweverItsSocketIsSpelt(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "run"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a.sock", "b.sock"} {
		if err := os.WriteFile(filepath.Join(dir, "run", name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("run", filepath.Join(dir, "var")); err != nil {
		t.Fatal(err)
	}
	id := func(path string) string {
		return runtimeID(cri.Endpoint{Runtime: "unix://" + filepath.Join(dir, path)})
	}
	if id("run/a.sock") != id("var/a.sock") {
		t.Error("one socket by two paths has two ids")
	}
	if id("run/a.sock") == id("run/b.sock") {
		t.Error("two sockets have one id")
	}
}
