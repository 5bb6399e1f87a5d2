package volume

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// remove removes the tree at the path of elements below base. base may be
// reached by symlinks, nothing below it. It looks for mounts first and refuses
// if there is one; then it walks by file descriptors, so that nothing that
// changes on the way, be it a symlink or a mount, leads it out of the tree.
func remove(base string, elements ...string) error {
	base, err := filepath.EvalSymlinks(base)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	path := filepath.Join(append([]string{base}, elements...)...)
	mounts, err := mountsIn(path)
	if err != nil {
		return err
	}
	if len(mounts) > 0 {
		return &MountedError{Path: path, Mounts: mounts}
	}
	dir, err := os.Open(base)
	if err != nil {
		return err
	}
	defer dir.Close()
	last := len(elements) - 1
	for _, element := range elements[:last] {
		inner, err := openIn(dir, element)
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		defer inner.Close()
		dir = inner
	}
	return removeIn(dir, elements[last])
}

// mountsIn are the mount points at or below the path, which has no symlinks.
func mountsIn(path string) ([]string, error) {
	infos, err := mountinfo.GetMounts(mountinfo.PrefixFilter(path))
	if err != nil {
		return nil, err
	}
	var points []string
	for _, info := range infos {
		points = append(points, info.Mountpoint)
	}
	slices.Sort(points)
	return points, nil
}

// removeIn removes name from an open directory.
func removeIn(dir *os.File, name string) error {
	unlinked := unix.Unlinkat(int(dir.Fd()), name, 0)
	if unlinked == nil || errors.Is(unlinked, unix.ENOENT) {
		return nil
	}
	path := filepath.Join(dir.Name(), name)
	child, err := openIn(dir, name)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP):
		return &os.PathError{Op: "unlink", Path: path, Err: unlinked}
	case err != nil:
		return err
	}
	defer child.Close()
	names, err := child.Readdirnames(-1)
	if err != nil {
		return err
	}
	for _, n := range names {
		if err := removeIn(child, n); err != nil {
			return err
		}
	}
	if err := unix.Unlinkat(int(dir.Fd()), name, unix.AT_REMOVEDIR); err != nil && !errors.Is(err, unix.ENOENT) {
		return &os.PathError{Op: "rmdir", Path: path, Err: err}
	}
	return nil
}

// openIn opens a directory in an open directory: not through a symlink, and
// not on another mount.
func openIn(dir *os.File, name string) (*os.File, error) {
	path := filepath.Join(dir.Name(), name)
	fd, err := unix.Openat(int(dir.Fd()), name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	child := os.NewFile(uintptr(fd), path)
	outer, err := mountOf(dir)
	if err == nil {
		var inner mount
		if inner, err = mountOf(child); err == nil && inner != outer {
			err = fmt.Errorf("%s: something is mounted there", path)
		}
	}
	if err != nil {
		return nil, errors.Join(err, child.Close())
	}
	return child, nil
}

// mount tells mounts apart, also two of one file system. id is 0 on kernels
// before 5.8, which do not tell.
type mount struct {
	id, major, minor uint64
}

func mountOf(f *os.File) (mount, error) {
	var st unix.Statx_t
	if err := unix.Statx(int(f.Fd()), "", unix.AT_EMPTY_PATH, unix.STATX_MNT_ID, &st); err != nil {
		return mount{}, &os.PathError{Op: "statx", Path: f.Name(), Err: err}
	}
	m := mount{major: uint64(st.Dev_major), minor: uint64(st.Dev_minor)}
	if st.Mask&unix.STATX_MNT_ID != 0 {
		m.id = st.Mnt_id
	}
	return m, nil
}
