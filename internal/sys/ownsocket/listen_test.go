package ownsocket_test

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/podctl/podctl/internal/sys/ownsocket"
)

func TestSocketIsItsUsersAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sim.sock")
	l, err := ownsocket.Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v; want 0600", info.Mode(), err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}

func TestSocketThatIsServedIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sim.sock")
	first, err := ownsocket.Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	if _, err := ownsocket.Listen(path); !errors.Is(err, ownsocket.ErrInUse) {
		t.Errorf("error %v, want that it is in use", err)
	}
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatalf("the first one is not reached any more: %v", err)
	}
	conn.Close()
}

func TestSocketOfADeadProcessIsReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sim.sock")
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	dead.SetUnlinkOnClose(false)
	dead.Close()
	l, err := ownsocket.Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if conn, err := net.Dial("unix", path); err != nil {
		t.Error(err)
	} else {
		conn.Close()
	}
}

func TestFileThatIsNoSocketIsLeftAlone(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(path, []byte("keep"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ownsocket.Listen(path); !errors.Is(err, ownsocket.ErrInUse) {
		t.Errorf("error %v, want that it is in use", err)
	}
	if content, err := os.ReadFile(path); err != nil || string(content) != "keep" {
		t.Errorf("the file has %q, %v", content, err)
	}
}
