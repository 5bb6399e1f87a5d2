package filecopy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// Root is where paths are resolved: the root directory of a container, or this host.
type Root struct {
	// dir is nil on this host.
	dir *os.File
	ids IDMap
}

// Host is this host's root: paths are relative to the working directory.
func Host() *Root { return &Root{} }

// maxProc bounds a file of a process in /proc.
const maxProc = 1 << 20

// OpenRoot opens the root directory of a container by its first process, as the runtime
// reports it. That the process is the container's is seen by its cgroup: the id may be
// another process's by now, or in another PID namespace. The directory in /proc stays
// that of the process that was opened.
func OpenRoot(pid int, container string) (*Root, error) {
	proc, err := os.OpenFile(fmt.Sprintf("/proc/%d", pid), unix.O_PATH|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	defer func() { _ = proc.Close() }() // only looked up in
	cgroup, err := readProc(proc, "cgroup")
	if err != nil {
		return nil, err
	}
	if !strings.Contains(string(cgroup), container) {
		return nil, fmt.Errorf("process %d is %w", pid, ErrNotVisible)
	}
	r := &Root{}
	for _, m := range []struct {
		name string
		to   *[]Range
	}{{"uid_map", &r.ids.UIDs}, {"gid_map", &r.ids.GIDs}} {
		text, err := readProc(proc, m.name)
		if err != nil {
			return nil, err
		}
		if *m.to, err = readRanges(text); err != nil {
			return nil, err
		}
	}
	// root is a magic link: it leads to where the process's root is mounted.
	fd, err := unix.Openat(int(proc.Fd()), "root", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: fmt.Sprintf("/proc/%d/root", pid), Err: err}
	}
	r.dir = os.NewFile(uintptr(fd), "/")
	return r, nil
}

func readProc(proc *os.File, name string) ([]byte, error) {
	fd, err := unix.Openat(int(proc.Fd()), name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path.Join(proc.Name(), name), Err: err}
	}
	file := os.NewFile(uintptr(fd), name)
	defer func() { _ = file.Close() }() // only read
	return io.ReadAll(io.LimitReader(file, maxProc))
}

// IDs returns those of the container's user namespace.
func (r *Root) IDs() IDMap { return r.ids }

// Close closes the root.
func (r *Root) Close() error {
	if r.dir == nil {
		return nil
	}
	return r.dir.Close()
}

// resolve opens a path as O_PATH: in a container, symlinks are followed within its
// root and magic links not at all.
func (r *Root) resolve(name string) (*os.File, error) {
	if r.dir == nil {
		return os.OpenFile(name, unix.O_PATH, 0)
	}
	for {
		fd, err := unix.Openat2(int(r.dir.Fd()), inRoot(name), &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS})
		switch {
		case errors.Is(err, unix.EINTR), errors.Is(err, unix.EAGAIN): // something was renamed meanwhile
			continue
		case err != nil:
			return nil, &fs.PathError{Op: "open", Path: name, Err: err}
		}
		return os.NewFile(uintptr(fd), name), nil
	}
}

// inRoot keeps a trailing slash or dot: they ask for a directory.
func inRoot(name string) string { return "./" + strings.TrimLeft(name, "/") }

// Open implements End. Symlinks in the path are followed, at its end too.
func (r *Root) Open(_ context.Context, p Place) (Source, error) {
	found, err := r.resolve(p.Path)
	if err != nil {
		return nil, place(p, err)
	}
	return &Tree{root: found, ids: r.ids, title: p.String()}, nil
}

// Create implements End.
func (r *Root) Create(_ context.Context, to, from Place) (sink Sink, made Place, err error) {
	found, err := r.resolve(to.Path)
	if err == nil {
		if isDir(found) {
			made = into(to, from)
			return &Directory{root: found, name: from.Base(), ids: r.ids, title: made.String()}, made, nil
		}
		_ = found.Close() // the file that is replaced
	}
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, to, place(to, err)
	case to.Base() == "" || strings.HasSuffix(to.Path, "/"):
		return nil, to, fmt.Errorf("%s: no such directory", to)
	}
	parent, err := r.resolve(dirOf(to.Path))
	if err != nil {
		return nil, to, place(to, err)
	}
	if !isDir(parent) {
		_ = parent.Close()
		return nil, to, place(to, unix.ENOTDIR)
	}
	return &Directory{root: parent, name: to.Base(), ids: r.ids, title: to.String()}, to, nil
}

func isDir(f *os.File) bool {
	var st unix.Stat_t
	return unix.Fstat(int(f.Fd()), &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR
}

// place names the place of an error.
func place(p Place, err error) error {
	if cause, ok := errors.AsType[*fs.PathError](err); ok {
		err = cause.Err
	}
	return fmt.Errorf("%s: %w", p, err)
}
