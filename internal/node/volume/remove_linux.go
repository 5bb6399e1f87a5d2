package volume

import (
	"context"
	"errors"
	"fmt"
	"io"
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
func remove(ctx context.Context, base string, elements ...string) error {
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
		return mountedError(path, mounts)
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
	return removeIn(ctx, dir, elements[last])
}

// mountsIn returns the mount points at or below the path, which has no symlinks.
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

// maxRemoveDepth is how many directories removal has open at a time. Deeper
// ones are moved up first.
const maxRemoveDepth = 64

// removeBatch is how many names of a directory are read at a time.
const removeBatch = 256

// remover removes one tree.
type remover struct {
	ctx context.Context
	// top is the tree's own directory, to which those that lie too deep are moved.
	top *os.File
	// moved counts the directories that were moved to top.
	moved int
}

// removeIn removes name, with everything in it, from an open directory.
//
// Containers can nest directories without limit. Time is linear in the number
// of files, and memory and descriptors do not depend on the depth: a directory
// at depth maxRemoveDepth is moved up into the top one, where its turn comes
// later.
func removeIn(ctx context.Context, dir *os.File, name string) error {
	return (&remover{ctx: ctx}).remove(dir, name, 0)
}

func (r *remover) remove(dir *os.File, name string, depth int) error {
	if err := r.ctx.Err(); err != nil {
		return err
	}
	unlinked := unix.Unlinkat(int(dir.Fd()), name, 0)
	if unlinked == nil || errors.Is(unlinked, unix.ENOENT) {
		return nil
	}
	if depth == maxRemoveDepth {
		return r.moveUp(dir, name)
	}
	child, err := openIn(dir, name)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP):
		return &os.PathError{Op: "unlink", Path: shortPath(dir, name), Err: unlinked}
	case err != nil:
		return err
	}
	defer child.Close()
	if depth == 0 {
		r.top = child
	}
	if err := r.empty(child, depth); err != nil {
		return err
	}
	if err := unix.Unlinkat(int(dir.Fd()), name, unix.AT_REMOVEDIR); err != nil && !errors.Is(err, unix.ENOENT) {
		return &os.PathError{Op: "rmdir", Path: shortPath(dir, name), Err: err}
	}
	return nil
}

// empty removes everything in a directory. The top one is read again as long
// as directories were moved into it.
func (r *remover) empty(dir *os.File, depth int) error {
	for {
		before := r.moved
		for {
			names, err := dir.Readdirnames(removeBatch)
			for _, n := range names {
				if err := r.remove(dir, n, depth+1); err != nil {
					return err
				}
			}
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return &os.PathError{Op: "read", Path: shortPath(dir, ""), Err: errors.Unwrap(err)}
			}
		}
		if depth > 0 || r.moved == before {
			return nil
		}
		if _, err := dir.Seek(0, io.SeekStart); err != nil {
			return err
		}
	}
}

// moveUp moves a directory to the top of the tree, under a name that is free
// or that of an empty directory. Nothing that is mounted can be moved.
func (r *remover) moveUp(dir *os.File, name string) error {
	for {
		r.moved++
		err := unix.Renameat(int(dir.Fd()), name, int(r.top.Fd()), fmt.Sprintf("removed-%d", r.moved))
		switch {
		case err == nil, errors.Is(err, unix.ENOENT):
			return nil
		case errors.Is(err, unix.EEXIST), errors.Is(err, unix.ENOTEMPTY), errors.Is(err, unix.ENOTDIR):
			continue
		}
		return &os.PathError{Op: "rename", Path: shortPath(dir, name), Err: err}
	}
}

// openIn opens a directory in an open directory: not through a symlink, and
// not on another mount.
func openIn(dir *os.File, name string) (*os.File, error) {
	fd, err := unix.Openat(int(dir.Fd()), name, openDirectory, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: shortPath(dir, name), Err: err}
	}
	child := os.NewFile(uintptr(fd), filepath.Join(dir.Name(), name))
	outer, err := mountOf(dir)
	if err == nil {
		var inner mount
		if inner, err = mountOf(child); err == nil && inner != outer {
			err = fmt.Errorf("%s: a file system is mounted there", shortPath(dir, name))
		}
	}
	if err != nil {
		return nil, errors.Join(err, child.Close())
	}
	return child, nil
}

// maxPathText is how many bytes of a path a message has: containers choose
// names and depth.
const maxPathText = 512

// shortPath returns the path of a file in an open directory, for a message.
func shortPath(dir *os.File, name string) string {
	path := filepath.Join(dir.Name(), name)
	if len(path) <= maxPathText {
		return path
	}
	return path[:maxPathText/2] + "…" + path[len(path)-maxPathText/2:]
}

// mount identifies a mount by its id, also among several of one file system. Kernels
// before 5.8 do not report the id; then the device identifies it: files of one overlay
// mount may have several devices, those of its layers.
type mount struct {
	id     uint64
	device device
}

// device is the number of the device that statx reports.
type device struct{ major, minor uint32 }

func deviceOf(st *unix.Statx_t) device { return device{st.Dev_major, st.Dev_minor} }

const statxMask = unix.STATX_BASIC_STATS | unix.STATX_MNT_ID

func mountOf(f *os.File) (mount, error) {
	var st unix.Statx_t
	if err := unix.Statx(int(f.Fd()), "", unix.AT_EMPTY_PATH, unix.STATX_MNT_ID, &st); err != nil {
		return mount{}, &os.PathError{Op: "statx", Path: shortPath(f, ""), Err: err}
	}
	return mountOfStatx(&st), nil
}

func mountOfStatx(st *unix.Statx_t) mount {
	if st.Mask&unix.STATX_MNT_ID != 0 {
		return mount{id: st.Mnt_id}
	}
	return mount{device: deviceOf(st)}
}
