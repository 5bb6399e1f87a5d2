package owner

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/podctl/podctl/internal/sys/proc"
)

// A run directory in which others may write is refused, and nothing in it or
// behind a link is touched.
func TestUnsafeRunDirectoryIsRefused(t *testing.T) {
	victim := filepath.Join(t.TempDir(), "victim")
	lock := filepath.Join(victim, "instance-other.lock")
	if err := errors.Join(os.Mkdir(victim, 0o700), os.WriteFile(lock, nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	for name, plant := range map[string]func(run string) error{
		"world-writable run directory":     func(run string) error { return os.Chmod(run, 0o777) },
		"sticky run directory":             func(run string) error { return os.Chmod(run, 0o777|os.ModeSticky) },
		"group-writable runtime directory": func(run string) error { return errors.Join(os.Mkdir(run+"/id", 0o700), os.Chmod(run+"/id", 0o770)) },
		"linked runtime directory":         func(run string) error { return os.Symlink(victim, run+"/id") },
	} {
		run := filepath.Join(t.TempDir(), "run")
		if err := errors.Join(os.Mkdir(run, 0o700), plant(run)); err != nil {
			t.Fatal(err)
		}
		l, err := Open(filepath.Join(run, "id"), "agent", proc.Default)
		if _, unsafe := errors.AsType[*UnsafeDirError](err); !unsafe {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			_ = l.Close()
		}
	}
	if _, err := os.Stat(lock); err != nil {
		t.Errorf("the lock of another directory is gone: %v", err)
	}
}

// A link in place of a lock file is not followed.
func TestLinkInPlaceOfALockIsNotFollowed(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "id")
	target := filepath.Join(t.TempDir(), "target")
	path := namePath(dir, "web_default")
	if err := errors.Join(os.Mkdir(dir, 0o700), os.Symlink(target, path)); err != nil {
		t.Fatal(err)
	}
	l, err := Open(dir, "agent", proc.Default)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	// Another process could not place it after the sweep: the directory is safe.
	if err := errors.Join(os.RemoveAll(path), os.Symlink(target, path)); err != nil {
		t.Fatal(err)
	}
	if err := l.Claim("web_default"); err == nil {
		t.Error("a lock was taken through a link")
	}
	if _, err := os.Stat(target); !os.IsNotExist(err) {
		t.Errorf("the link's target was made: %v", err)
	}
}
