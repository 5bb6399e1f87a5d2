package control

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/podctl/podctl/internal/owners/owner"
	"github.com/podctl/podctl/internal/sys/proc"
)

// A socket that is closed late does not remove the one that has replaced it.
func TestCloseKeepsReplacedSocket(t *testing.T) {
	run, err := os.MkdirTemp("", "run") // short enough for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(run) })
	dir := filepath.Join(run, "runtime")
	locks, err := owner.Open(dir, "agent", proc.Default)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = locks.Close() })
	old, err := Listen(dir, "agent")
	if err != nil {
		t.Fatal(err)
	}
	next, err := Listen(dir, "agent")
	if err != nil {
		t.Fatal(err)
	}
	if err := old.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(Path(dir, "agent")); err != nil {
		t.Errorf("the socket in use was removed: %v", err)
	}
	if err := next.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(Path(dir, "agent")); !os.IsNotExist(err) {
		t.Errorf("the closed socket stays: %v", err)
	}
}
