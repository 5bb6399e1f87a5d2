package owner

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
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
