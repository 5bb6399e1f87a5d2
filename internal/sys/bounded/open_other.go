//go:build !linux

package bounded

import (
	"os"
	"syscall"
)

// Open opens the regular file at path for reading; the error for any other is
// ErrNotRegular. Pods only run on linux.
func Open(path string) (*os.File, error) { return regular(os.Open(path)) }

// OpenNoFollow is Open, except that the path must not name a symlink.
func OpenNoFollow(path string) (*os.File, error) {
	return regular(os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0))
}

// OpenNoFollowIn is OpenNoFollow for a file below root, which no symlink leaves.
func OpenNoFollowIn(root *os.Root, name string) (*os.File, error) {
	return regular(root.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0))
}

// OpenIn is Open for a file below root, which no symlink leaves.
func OpenIn(root *os.Root, name string) (*os.File, error) { return regular(root.Open(name)) }

func regular(f *os.File, err error) (*os.File, error) {
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		_ = f.Close() // nothing was read
		return nil, &os.PathError{Op: "open", Path: f.Name(), Err: ErrNotRegular}
	}
	return f, nil
}
