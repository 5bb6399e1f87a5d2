package owner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// UnsafeDirError is a lock directory in which somebody else can create files.
type UnsafeDirError struct {
	Dir, Reason string
}

func (e *UnsafeDirError) Error() string {
	return fmt.Sprintf("refuse run directory %s: %s", e.Dir, e.Reason)
}

// Hint returns how to make it safe.
func (e *UnsafeDirError) Hint() string {
	return "it has to belong to the user that runs podctl, or to root, and no other user may write in it: chmod 0700, or another --run-dir"
}

// CheckDir returns an *UnsafeDirError if anyone but root and the user of this
// process could place locks, sockets or links in the lock directory of a
// runtime or in its parent, the run directory. A directory that does not exist
// is safe: podctl creates it.
func CheckDir(dir string) error {
	info, err := os.Lstat(dir)
	if err == nil && info.Mode()&fs.ModeSymlink != 0 {
		return &UnsafeDirError{dir, "it is a symbolic link"}
	}
	for _, path := range []string{filepath.Dir(dir), dir} {
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil
		case err != nil:
			return err
		case !info.IsDir():
			return &UnsafeDirError{path, "it is not a directory"}
		case info.Mode().Perm()&0o022 != 0:
			return &UnsafeDirError{path, fmt.Sprintf("others may write in it (mode %04o)", info.Mode().Perm())}
		}
		if stat, ok := info.Sys().(*syscall.Stat_t); ok && !slices.Contains([]int{0, os.Geteuid()}, int(stat.Uid)) {
			return &UnsafeDirError{path, fmt.Sprintf("it belongs to user %d", stat.Uid)}
		}
	}
	return nil
}

// sweep removes the lock files that are not held: those of podctls that were
// killed. What it cannot remove does no harm.
//
// It asks with shared locks, so that a podctl that wants to take one meanwhile sees
// that it is not held and tries again. While it has one, no holder can replace
// the file, and no other sweeper, for there is one at a time.
func sweep(dir string) {
	d, err := os.Open(dir)
	if err != nil {
		return
	}
	defer d.Close()
	if tryFlock(d) != nil {
		return // another podctl sweeps
	}
	files, _ := d.ReadDir(-1) // what cannot be read stays
	for _, f := range files {
		if filepath.Ext(f.Name()) == suffix {
			sweepFile(filepath.Join(dir, f.Name()))
		}
	}
}

func sweepFile(path string) {
	f, err := os.Open(path)
	if err != nil {
		return
	}
	defer f.Close()
	if unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB) != nil {
		return
	}
	if same, err := isAt(f, path); err == nil && same {
		_ = os.Remove(path) // the next sweep tries again
	}
}
