package volume

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	// maxOpenLevels is how many directories of one tree are open at a time.
	maxOpenLevels = 32
	// maxLevels is the depth at which a walk gives up. Containers can nest
	// directories without limit, and each level costs 64 bytes here.
	maxLevels = 1_000_000
	// entriesSize is how many bytes of directory entries are read at a time.
	entriesSize = 4096
)

var (
	errTooDeep = fmt.Errorf("directories are nested more than %d levels deep", maxLevels)
	errMoved   = errors.New("directories were moved while they were read")
)

// visitFunc is called for one file of a tree: by its name in an open
// directory, with the result of statx.
type visitFunc func(dir int, name string, st *unix.Statx_t) error

// walk calls visit for every file below a directory, each directory before
// its contents, and last for the directory itself, by the name ".". It follows
// no symlink, leaves out what is mounted in the tree, and ends with ctx. Files
// that come or go meanwhile may be left out.
//
// Time is linear in the number of files whatever their depth, memory is
// linear in the depth, and at most maxOpenLevels descriptors are open: a
// directory above those is closed on the way down, and on the way up opened as
// ".." and compared with what it was, because containers can move directories.
func walk(ctx context.Context, dir string, visit visitFunc) error {
	return (&walker{visit: visit, maxLevels: maxLevels}).walk(ctx, dir)
}

func (w *walker) walk(ctx context.Context, dir string) error {
	fd, err := openat(unix.AT_FDCWD, dir)
	if err != nil {
		return &os.PathError{Op: "open", Path: dir, Err: err}
	}
	defer w.close()
	if err := w.pushDir(fd); err != nil {
		return &os.PathError{Op: "statx", Path: dir, Err: err}
	}
	w.tree = w.levels[0].id.mount
	for len(w.levels) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := w.next(); err != nil {
			return fmt.Errorf("%s: at depth %d: %w", dir, len(w.levels), err)
		}
	}
	return nil
}

const openDirectory = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC

// walker is a walk in progress.
type walker struct {
	visit visitFunc
	// maxLevels is the depth at which the walk fails or, with skipDeep, leaves
	// out what lies deeper.
	maxLevels int
	skipDeep  bool

	tree   mount
	levels []level
	bufs   [maxOpenLevels][]byte
}

// level is a directory that has been entered and not yet left.
type level struct {
	id fileID
	// fd is -1 while the directory is closed.
	fd int
	// rest are the entries that are read and not visited; none while the
	// directory is closed.
	rest []byte
	// position is where the entries behind the last visited one begin.
	position int64
}

// fileID identifies a file for as long as it exists.
type fileID struct {
	mount  mount
	device device
	inode  uint64
}

func idOf(st *unix.Statx_t) fileID { return fileID{mountOfStatx(st), deviceOf(st), st.Ino} }

// next visits the next entry of the deepest directory.
func (w *walker) next() error {
	depth := len(w.levels) - 1
	l := &w.levels[depth]
	if len(l.rest) == 0 {
		buf := w.bufs[min(depth, maxOpenLevels-1)]
		if buf == nil {
			buf = make([]byte, entriesSize)
			w.bufs[min(depth, maxOpenLevels-1)] = buf
		}
		n, err := ignoringEINTR(func() (int, error) { return unix.Getdents(l.fd, buf) })
		if err != nil && !errors.Is(err, unix.ENOENT) {
			return err
		}
		if n <= 0 {
			return w.popDir()
		}
		l.rest = buf[:n]
	}
	name, err := l.pop()
	if err != nil || name == "." || name == ".." {
		return err
	}
	var st unix.Statx_t
	err = statx(l.fd, name, unix.AT_SYMLINK_NOFOLLOW|unix.AT_NO_AUTOMOUNT, &st)
	if errors.Is(err, unix.ENOENT) {
		return nil
	}
	if err != nil {
		return err
	}
	if mountOfStatx(&st) != w.tree {
		return nil
	}
	if err := w.visit(l.fd, name, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return nil
	}
	return w.descend(l, name)
}

// pop returns the name of the first unvisited entry, a linux_dirent64.
func (l *level) pop() (string, error) {
	header := int(unsafe.Offsetof(unix.Dirent{}.Name))
	if len(l.rest) < header {
		return "", unix.EIO
	}
	size := int(binary.NativeEndian.Uint16(l.rest[unsafe.Offsetof(unix.Dirent{}.Reclen):]))
	if size < header || size > len(l.rest) {
		return "", unix.EIO
	}
	l.position = int64(binary.NativeEndian.Uint64(l.rest[unsafe.Offsetof(unix.Dirent{}.Off):]))
	name, _, _ := bytes.Cut(l.rest[header:size], []byte{0})
	l.rest = l.rest[size:]
	return string(name), nil
}

func (w *walker) descend(from *level, name string) error {
	if len(w.levels) >= w.maxLevels {
		if w.skipDeep {
			return nil
		}
		return errTooDeep
	}
	fd, err := openat(from.fd, name)
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP):
		return nil // exchanged meanwhile
	case err != nil:
		return err
	}
	if len(w.levels) >= maxOpenLevels {
		_ = unix.Close(from.fd) // it was only read
		from.fd, from.rest = -1, nil
	}
	return w.pushDir(fd)
}

// pushDir takes over fd. What was mounted there since it was looked at is left
// again at once.
func (w *walker) pushDir(fd int) error {
	var st unix.Statx_t
	if err := statx(fd, "", unix.AT_EMPTY_PATH, &st); err != nil {
		_ = unix.Close(fd) // the error says enough
		return err
	}
	w.levels = append(w.levels, level{id: idOf(&st), fd: fd})
	if len(w.levels) > 1 && mountOfStatx(&st) != w.tree {
		return errMoved
	}
	return nil
}

// popDir goes up one level, or visits the directory of the walk itself.
func (w *walker) popDir() error {
	last := w.levels[len(w.levels)-1]
	defer func() { _ = unix.Close(last.fd) }() // it was only read
	w.levels = w.levels[:len(w.levels)-1]
	if len(w.levels) == 0 {
		var st unix.Statx_t
		if err := statx(last.fd, "", unix.AT_EMPTY_PATH, &st); err != nil {
			return err
		}
		return w.visit(last.fd, ".", &st)
	}
	up := &w.levels[len(w.levels)-1]
	if up.fd >= 0 {
		return nil
	}
	fd, err := openat(last.fd, "..")
	if err != nil {
		return err
	}
	up.fd = fd // which close closes
	var st unix.Statx_t
	if err := statx(fd, "", unix.AT_EMPTY_PATH, &st); err != nil {
		return err
	}
	if idOf(&st) != up.id || up.position == 0 {
		return errMoved
	}
	_, err = unix.Seek(fd, up.position, unix.SEEK_SET)
	return err
}

func (w *walker) close() {
	for _, l := range w.levels {
		if l.fd >= 0 {
			_ = unix.Close(l.fd) // it was only read
		}
	}
}

// ignoringEINTR repeats a system call that a signal interrupts: on network and
// FUSE file systems any may be.
func ignoringEINTR[T any](call func() (T, error)) (T, error) {
	for {
		v, err := call()
		if !errors.Is(err, unix.EINTR) {
			return v, err
		}
	}
}

// openat opens a directory by its name in another.
func openat(dir int, name string) (int, error) {
	return ignoringEINTR(func() (int, error) { return unix.Openat(dir, name, openDirectory, 0) })
}

func statx(dir int, name string, flags int, st *unix.Statx_t) error {
	_, err := ignoringEINTR(func() (struct{}, error) { return struct{}{}, unix.Statx(dir, name, flags, statxMask, st) })
	return err
}
