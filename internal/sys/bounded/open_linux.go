package bounded

import (
	"fmt"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// maxLinks is how many symlinks OpenIn follows at the end of a path, as many
// as the kernel.
const maxLinks = 40

// Open opens the regular file at path for reading; the error for any other is
// ErrNotRegular. Symlinks are followed.
func Open(path string) (*os.File, error) {
	found, err := os.OpenFile(path, unix.O_PATH, 0)
	if err != nil {
		return nil, err
	}
	return reopen(found)
}

// OpenNoFollow is Open, except that the path must not name a symlink.
func OpenNoFollow(path string) (*os.File, error) {
	found, err := os.OpenFile(path, unix.O_PATH|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, err
	}
	return reopen(found)
}

// OpenNoFollowIn is OpenNoFollow for a file below root, which no symlink leaves.
func OpenNoFollowIn(root *os.Root, name string) (*os.File, error) {
	// Root leaves a symlink at the end to us, because O_PATH can open it.
	found, err := root.OpenFile(name, unix.O_PATH, 0)
	if err != nil {
		return nil, err
	}
	return reopen(found)
}

// OpenIn is Open for a file below root, which no symlink leaves.
func OpenIn(root *os.Root, name string) (*os.File, error) {
	for range maxLinks {
		found, err := root.OpenFile(name, unix.O_PATH, 0)
		if err != nil {
			return nil, err
		}
		info, err := found.Stat()
		if err != nil || info.Mode().Type() != os.ModeSymlink {
			return reopen(found)
		}
		_ = found.Close() // nothing was read
		to, err := root.Readlink(name)
		if err != nil {
			return nil, err
		}
		if path.IsAbs(to) {
			name = to // which Root refuses
			continue
		}
		dir, _ := path.Split(strings.TrimRight(name, "/"))
		name = dir + to
	}
	return nil, &os.PathError{Op: "open", Path: name, Err: unix.ELOOP}
}

// reopen takes over a descriptor that was opened with O_PATH.
func reopen(found *os.File) (*os.File, error) {
	defer func() { _ = found.Close() }() // nothing was read
	info, err := found.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &os.PathError{Op: "open", Path: found.Name(), Err: ErrNotRegular}
	}
	fd, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", found.Fd()), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: found.Name(), Err: err}
	}
	return os.NewFile(uintptr(fd), found.Name()), nil
}
