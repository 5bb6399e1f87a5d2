//go:build unix

package daemon

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// diskSpace returns the size in bytes of the file system that a directory is
// on, and how much of it unprivileged programs may use.
func diskSpace(dir string) (capacity, available uint64, err error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return 0, 0, fmt.Errorf("read size of %s: %w", dir, err)
	}
	size := uint64(fs.Bsize)
	return uint64(fs.Blocks) * size, uint64(fs.Bavail) * size, nil //nolint:unconvert // the types differ between systems
}

// freeSpace returns how many bytes of a directory's file system are free for a
// privileged program, as the runtime is.
func freeSpace(dir string) (uint64, error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return 0, fmt.Errorf("read size of %s: %w", dir, err)
	}
	return uint64(fs.Bfree) * uint64(fs.Bsize), nil //nolint:unconvert // the types differ between systems
}

// onDifferentFileSystems reports whether two files are on two file systems.
func onDifferentFileSystems(a, b string) (bool, error) {
	var of, with unix.Stat_t
	if err := unix.Stat(a, &of); err != nil {
		return false, fmt.Errorf("read file system of %s: %w", a, err)
	}
	if err := unix.Stat(b, &with); err != nil {
		return false, fmt.Errorf("read file system of %s: %w", b, err)
	}
	return of.Dev != with.Dev, nil
}
