package host

import (
	"net"
	"os"
	"path/filepath"
	"testing"
)

// A runtime has one id by every path to its socket, so that its podctl processes
// share their locks.
func TestRuntimeIDIsOneForAllPathsToASocket(t *testing.T) {
	dir := t.TempDir()
	bound, hard, soft := filepath.Join(dir, "bound.sock"), filepath.Join(dir, "hard.sock"), filepath.Join(dir, "soft.sock")
	l, err := net.Listen("unix", bound)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if err := os.Link(bound, hard); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(hard, soft); err != nil {
		t.Fatal(err)
	}
	want := RuntimeID("unix://" + bound)
	for _, path := range []string{hard, soft} {
		if got := RuntimeID("unix://" + path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	other, err := net.Listen("unix", filepath.Join(dir, "other.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if got := RuntimeID("unix://" + filepath.Join(dir, "other.sock")); got == want {
		t.Error("another runtime has the same id")
	}
	// Another runtime at a path that the first one had: the name is not believed.
	if err := os.Rename(bound, bound+".moved"); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "other.sock"), bound); err != nil {
		t.Fatal(err)
	}
	if RuntimeID("unix://"+bound) == RuntimeID("unix://"+hard) {
		t.Error("two runtimes have one id")
	}
}
