package filecopy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"time"

	"golang.org/x/sys/unix"
)

// resolveBeneath resolves a path below a directory and nowhere else.
const resolveBeneath = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS

// openBeneath opens a path below a directory without following symlinks; "" is the
// directory itself.
func openBeneath(dir *os.File, name string, flags int, mode uint32) (*os.File, error) {
	if name == "" {
		name = "."
	}
	for {
		fd, err := unix.Openat2(int(dir.Fd()), name, &unix.OpenHow{Flags: uint64(flags | unix.O_CLOEXEC | unix.O_NOFOLLOW), Mode: uint64(mode), Resolve: resolveBeneath})
		switch {
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.EAGAIN): // something was renamed meanwhile
			continue
		case err != nil:
			return nil, &fs.PathError{Op: "open", Path: path.Join(dir.Name(), name), Err: err}
		}
		return os.NewFile(uintptr(fd), path.Join(dir.Name(), name)), nil
	}
}

// Tree is a Source: a file, or a directory with all below it.
type Tree struct {
	// root is the file or directory itself.
	root *os.File
	ids  IDMap
	// title begins the paths in errors.
	title string
	// links are the first paths of files with several.
	links map[inode]string
}

type inode struct{ dev, ino uint64 }

// readBatch is how many names of a directory are read at once.
const readBatch = 512

// Each implements Source, and releases the tree.
func (t *Tree) Each(ctx context.Context, do func(Entry) error, failed func(error)) error {
	defer func() { _ = t.root.Close() }() // only read
	t.links = map[inode]string{}
	e, err := t.describe(t.root, "")
	if err != nil {
		return err
	}
	if err := do(e); err != nil || e.Kind != Dir {
		return err
	}
	for stack := []subdir{{"", deviceOf(t.root)}}; len(stack) > 0; {
		at := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		dirs, err := t.each(ctx, at, do, failed)
		if err != nil {
			return err
		}
		stack = append(stack, dirs...)
	}
	return nil
}

// subdir is a directory that was found.
type subdir struct {
	path string
	dev  uint64
}

// each passes the entries of one directory on, and returns the directories among them.
func (t *Tree) each(ctx context.Context, in subdir, do func(Entry) error, failed func(error)) ([]subdir, error) {
	dir, err := openBeneath(t.root, in.path, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		failed(t.replacedError(in.path, err))
		return nil, nil
	}
	defer func() { _ = dir.Close() }() // only read
	var dirs []subdir
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		names, readErr := dir.Readdirnames(readBatch)
		for _, name := range names {
			e, found, err := t.openEntry(dir, name, path.Join(in.path, name))
			if err != nil {
				if !errors.Is(err, fs.ErrNotExist) { // it was removed meanwhile
					failed(err)
				}
				continue
			}
			if e.Kind == Dir {
				if d := deviceOf(found); d == in.dev || !isPseudoFile(found, &e) {
					dirs = append(dirs, subdir{e.Path, d})
				}
			}
			err = do(e)
			_ = found.Close() // only looked at
			if err != nil {
				return nil, err
			}
		}
		switch {
		case errors.Is(readErr, io.EOF):
			return dirs, nil
		case readErr != nil:
			failed(t.replacedError(in.path, readErr))
			return dirs, nil
		}
	}
}

// replacedError explains why a directory that was there cannot be read.
func (t *Tree) replacedError(at string, err error) error {
	name := path.Join(t.title, at)
	if errors.Is(err, unix.ELOOP) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.EXDEV) {
		return fmt.Errorf("%s: %w", name, errChanged)
	}
	if cause, ok := errors.AsType[*fs.PathError](err); ok {
		err = cause.Err
	}
	return fmt.Errorf("read %s: %w", name, err)
}

// openEntry returns the entry for a name of a directory, and its descriptor, by which it is
// read: what takes its name meanwhile is not.
func (t *Tree) openEntry(dir *os.File, name, at string) (Entry, *os.File, error) {
	found, err := openBeneath(dir, name, unix.O_PATH, 0)
	if err != nil {
		return Entry{}, nil, t.replacedError(at, err)
	}
	e, err := t.describe(found, at)
	if err != nil {
		_ = found.Close() // only looked at
		return Entry{}, nil, err
	}
	return e, found, nil
}

// describe returns the entry of a descriptor.
func (t *Tree) describe(found *os.File, at string) (Entry, error) {
	var st unix.Stat_t
	if err := unix.Fstat(int(found.Fd()), &st); err != nil {
		return Entry{}, t.replacedError(at, err)
	}
	e := Entry{
		Path: at, Mode: modeOf(st.Mode), Size: st.Size, ModTime: time.Unix(st.Mtim.Unix()),
		UID: t.ids.FromHost(int(st.Uid), t.ids.UIDs), GID: t.ids.FromHost(int(st.Gid), t.ids.GIDs),
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		e.Kind = Dir
	case unix.S_IFREG:
		e.Kind, e.Open = File, func() (io.ReadCloser, error) { return t.open(found, at) }
		if st.Nlink > 1 {
			id := inode{uint64(st.Dev), st.Ino} //nolint:unconvert // Dev is narrower on other architectures
			if first, ok := t.links[id]; ok {
				e.LinkTo = first
			} else {
				t.links[id] = at
			}
		}
	case unix.S_IFLNK:
		e.Kind = Symlink
		var err error
		if e.Target, err = readlink(found); err != nil {
			return Entry{}, t.replacedError(at, err)
		}
	default:
		e.Kind, e.What = Other, specialNames[st.Mode&unix.S_IFMT]
	}
	return e, nil
}

var specialNames = map[uint32]string{
	unix.S_IFIFO: "a FIFO", unix.S_IFSOCK: "a socket", unix.S_IFCHR: "a character device", unix.S_IFBLK: "a block device",
}

// open opens a regular file for reading.
func (t *Tree) open(found *os.File, at string) (io.ReadCloser, error) {
	file, err := os.Open(fmt.Sprintf("/proc/self/fd/%d", found.Fd()))
	if err != nil {
		return nil, t.replacedError(at, err)
	}
	return file, nil
}

func readlink(found *os.File) (string, error) {
	buffer := make([]byte, unix.PathMax)
	n, err := unix.Readlinkat(int(found.Fd()), "", buffer)
	return string(buffer[:max(n, 0)]), err
}

func deviceOf(f *os.File) uint64 {
	var st unix.Stat_t
	if unix.Fstat(int(f.Fd()), &st) != nil {
		return 0
	}
	return uint64(st.Dev) //nolint:unconvert // narrower on other architectures
}

// isPseudoFile reports whether a mount point is one of a file system that holds no files,
// and makes it an entry that is not copied.
func isPseudoFile(f *os.File, e *Entry) bool {
	var st unix.Statfs_t
	if unix.Fstatfs(int(f.Fd()), &st) != nil {
		return false
	}
	name := map[int64]string{
		unix.PROC_SUPER_MAGIC: "proc", unix.SYSFS_MAGIC: "sysfs", unix.CGROUP_SUPER_MAGIC: "a cgroup", unix.CGROUP2_SUPER_MAGIC: "a cgroup",
		unix.DEBUGFS_MAGIC: "debugfs", unix.TRACEFS_MAGIC: "tracefs", unix.BPF_FS_MAGIC: "bpf",
	}[int64(st.Type)] //nolint:unconvert // narrower on other architectures
	if name == "" {
		return false
	}
	e.Kind, e.What = Other, name+" file system"
	return true
}

// modeOf returns the permissions of a mode.
func modeOf(mode uint32) fs.FileMode {
	m := fs.FileMode(mode & 0o777)
	for bit, flag := range map[uint32]fs.FileMode{unix.S_ISUID: fs.ModeSetuid, unix.S_ISGID: fs.ModeSetgid, unix.S_ISVTX: fs.ModeSticky} {
		if mode&bit != 0 {
			m |= flag
		}
	}
	return m
}

// modeBits returns the inverse of modeOf.
func modeBits(m fs.FileMode) uint32 {
	mode := uint32(m.Perm())
	for bit, flag := range map[uint32]fs.FileMode{unix.S_ISUID: fs.ModeSetuid, unix.S_ISGID: fs.ModeSetgid, unix.S_ISVTX: fs.ModeSticky} {
		if m&flag != 0 {
			mode |= bit
		}
	}
	return mode
}
