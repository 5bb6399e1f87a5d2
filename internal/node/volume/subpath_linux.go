package volume

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/types"
)

// The way of both functions below: symlinks are resolved first, which others
// may turn false at once; what they led to must lie in the volume; then it is
// opened element by element, following none. So a symlink that is put there in
// between is an error, and what is open cannot be exchanged any more.

// makeBeneath makes the directories that are missing on the way from base, an
// absolute path without symlinks, to path in it.
func makeBeneath(base, path string) error {
	full := filepath.Join(base, path)
	if _, err := os.Stat(full); !errors.Is(err, os.ErrNotExist) {
		return nil // what cannot be looked at cannot be mounted either
	}
	elements, err := elementsOf(base, full)
	if err != nil {
		return err
	}
	there := base
	for len(elements) > 0 {
		next := filepath.Join(there, elements[0])
		if _, err := os.Stat(next); errors.Is(err, os.ErrNotExist) {
			break
		} else if err != nil {
			return err
		}
		there, elements = next, elements[1:]
	}
	dir, err := openBeneath(base, there)
	if err != nil {
		return err
	}
	defer func() { dir.Close() }()
	var volume unix.Stat_t
	if err := unix.Stat(base, &volume); err != nil {
		return &os.PathError{Op: "stat", Path: base, Err: err}
	}
	for _, element := range elements {
		child, err := makeIn(dir, element, volume.Mode&0o7777)
		if err != nil {
			return err
		}
		_ = dir.Close() // nothing was written
		dir = child
	}
	return nil
}

// makeIn makes a directory in an open one, with exactly that mode, and opens
// it.
func makeIn(dir *os.File, name string, mode uint32) (*os.File, error) {
	path := filepath.Join(dir.Name(), name)
	made := unix.Mkdirat(int(dir.Fd()), name, mode)
	if made != nil && !errors.Is(made, unix.EEXIST) {
		return nil, &os.PathError{Op: "mkdir", Path: path, Err: made}
	}
	fd, err := unix.Openat(int(dir.Fd()), name, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	child := os.NewFile(uintptr(fd), path)
	if made == nil { // again, for the umask
		if err := unix.Fchmod(fd, mode); err != nil {
			return nil, errors.Join(&os.PathError{Op: "chmod", Path: path, Err: err}, child.Close())
		}
	}
	return child, nil
}

// openBeneath opens the file, of any kind, that path leads to at this moment,
// if that lies in base; base is an absolute path without symlinks. The file
// can be mounted and looked at, but not read.
func openBeneath(base, path string) (*os.File, error) {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}
	elements, err := elementsOf(base, real)
	if err != nil {
		return nil, err
	}
	const flags = unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC
	fd, err := unix.Open(base, flags, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: base, Err: err}
	}
	f := os.NewFile(uintptr(fd), base)
	for _, element := range elements {
		fd, err := unix.Openat(int(f.Fd()), element, flags, 0)
		path := filepath.Join(f.Name(), element)
		_ = f.Close() // nothing was written
		if err != nil {
			return nil, &os.PathError{Op: "open", Path: path, Err: err}
		}
		f = os.NewFile(uintptr(fd), path)
		info, err := f.Stat()
		if err == nil && info.Mode()&os.ModeSymlink != 0 {
			err = fmt.Errorf("%s has become a symlink", path)
		}
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
	}
	return f, nil
}

// bindBeneath mounts path in base at target, unless it is mounted there.
func bindBeneath(base, path, target string) error {
	f, err := openBeneath(base, filepath.Join(base, path))
	if err != nil {
		return err
	}
	defer f.Close()
	file, err := f.Stat()
	if err != nil {
		return err
	}
	mounted, err := keepOrUnmount(target, file)
	if err != nil || mounted {
		return err
	}
	if err := makeTarget(target, file.IsDir()); err != nil {
		return err
	}
	if err := unix.Mount(fmt.Sprintf("/proc/self/fd/%d", f.Fd()), target, "", unix.MS_BIND, ""); err != nil {
		return &os.PathError{Op: "mount at", Path: target, Err: err}
	}
	return nil
}

// keepOrUnmount reports whether the file is mounted at target; anything else
// that is mounted there, or cannot be looked at any more, is detached: an unmount
// would wait for its file system, which may hang.
func keepOrUnmount(target string, file os.FileInfo) (mounted bool, err error) {
	for {
		points, err := mountsIn(target)
		if err != nil || len(points) == 0 || points[0] != target {
			return false, err
		}
		there, err := os.Lstat(target)
		if err == nil && os.SameFile(there, file) {
			return true, nil
		}
		if err := detach(target); err != nil {
			return false, err
		}
	}
}

// makeTarget makes what a directory, or anything else, can be mounted on.
func makeTarget(target string, dir bool) error {
	if err := os.MkdirAll(filepath.Dir(target), 0o750); err != nil {
		return err
	}
	if info, err := os.Lstat(target); err == nil {
		if info.IsDir() == dir {
			return nil
		}
		if err := os.Remove(target); err != nil {
			return err
		}
	}
	if dir {
		return os.Mkdir(target, 0o750)
	}
	return os.WriteFile(target, nil, 0o640)
}

func unmount(path string) error { return unmountWith(path, 0) }

func detach(path string) error { return unmountWith(path, unix.MNT_DETACH) }

func unmountWith(path string, flags int) error {
	if err := unix.Unmount(path, unix.UMOUNT_NOFOLLOW|flags); err != nil {
		return &os.PathError{Op: "unmount", Path: path, Err: err}
	}
	return nil
}

// unmountSubPaths unmounts everything that BindSubPath mounted for the pod, in this
// process or an earlier one. Mounts that containers made inside stay; the removal of
// the directories reports them.
func (m *Manager) unmountSubPaths(uid types.UID) error {
	pods, err := filepath.EvalSymlinks(m.pods)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	dir := filepath.Join(pods, m.nameOf(uid), subPathsName)
	points, err := mountsIn(dir)
	if err != nil {
		return err
	}
	var errs []error
	for _, point := range points {
		if strings.Count(strings.TrimPrefix(point, dir), "/") != 3 {
			continue
		}
		// One that is busy has another inside.
		if err := unmount(point); !errors.Is(err, unix.EBUSY) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
