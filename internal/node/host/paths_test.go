package host

import (
	"os"
	"path/filepath"
	"testing"
)

// Two podctls must not manage the pods of one runtime because its socket has two
// paths, and two runtimes must not share cgroups.
func TestRuntimeHasOneIDHoweverItsSocketIsSpelled(t *testing.T) {
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
		return RuntimeID("unix://" + filepath.Join(dir, path))
	}
	if id("run/a.sock") != id("var/a.sock") {
		t.Error("one socket by two paths has two ids")
	}
	if id("run/a.sock") == id("run/b.sock") {
		t.Error("two sockets have one id")
	}
}

func TestPathsAreTheDefaultsOrTheGivenOnes(t *testing.T) {
	t.Chdir(t.TempDir())
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	got, err := DefaultPaths.With(Paths{})
	if err != nil || got != DefaultPaths {
		t.Errorf("defaults: %+v, %v", got, err)
	}
	got, err = DefaultPaths.With(Paths{Root: "r", Logs: "/l", Locks: "./k/"})
	if want := (Paths{Root: here + "/r", Logs: "/l", Locks: here + "/k"}); err != nil || got != want {
		t.Errorf("given: %+v, %v, want %+v", got, err, want)
	}
	x, y := DefaultPaths.ForRuntime("unix:///run/x.sock"), DefaultPaths.ForRuntime("unix:///run/y.sock")
	if x.Locks == y.Locks || filepath.Dir(x.Locks) != DefaultPaths.Locks {
		t.Errorf("two runtimes have the locks %s and %s", x.Locks, y.Locks)
	}
}
