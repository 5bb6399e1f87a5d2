package volume

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// giveTo gives everything in dir to the group, the directory itself last; a
// nil group changes nothing. It follows no symlink and does not leave dir,
// whatever is exchanged in it meanwhile; what is mounted in it keeps its owner
// (pkg/volume/volume_linux.go).
func giveTo(ctx context.Context, dir string, group *int64, a access) error {
	if group == nil {
		return nil
	}
	return walk(ctx, dir, func(parent int, name string, _ *unix.Statx_t) error {
		err := giveFile(parent, name, int(*group), a)
		if errors.Is(err, unix.ENOENT) {
			return nil // it was removed meanwhile
		}
		return err
	})
}

// giveFile changes the file that has the name now, by its descriptor.
func giveFile(parent int, name string, group int, a access) error {
	fd, err := unix.Openat(parent, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }() // nothing was written
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if err := unix.Fchownat(fd, "", -1, group, unix.AT_EMPTY_PATH); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT == unix.S_IFLNK {
		return nil
	}
	mode := st.Mode&0o7777 | a.bits(st.Mode&unix.S_IFMT == unix.S_IFDIR)
	return unix.Chmod(fmt.Sprintf("/proc/self/fd/%d", fd), mode)
}

// bits is mask as the system has it.
func (a access) bits(dir bool) uint32 {
	mask := a.mask(dir)
	bits := uint32(mask.Perm())
	if mask&os.ModeSetgid != 0 {
		bits |= unix.S_ISGID
	}
	return bits
}

func groupOf(info os.FileInfo) (gid int64, known bool) {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int64(st.Gid), true
}
