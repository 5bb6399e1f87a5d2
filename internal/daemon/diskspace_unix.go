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
