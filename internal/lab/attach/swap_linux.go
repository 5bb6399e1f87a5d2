package attach

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/podctl/podctl/internal/sys/hint"
	"github.com/podctl/podctl/internal/sys/unixdiag"
)

// parkedPrefix begins the name under which the runtime's socket is reached meanwhile.
const parkedPrefix = ".podctl-trace-"

// Swap is two sockets of one directory: the runtime's, and the one that takes its place.
type Swap struct {
	// Path is where callers look for the runtime, Parked the other name.
	Path, Parked string
	// runtime and ours are the sockets, held open so that no other file gets their inodes.
	runtime, ours *os.File
}

// openSocket opens a socket without connecting to it.
func openSocket(path string) (*os.File, error) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: path, Err: err}
	}
	f := os.NewFile(uintptr(fd), path)
	if info, err := f.Stat(); err != nil || info.Mode().Type() != fs.ModeSocket {
		return nil, errors.Join(&fs.PathError{Op: "open", Path: path, Err: unix.ENOTSOCK}, f.Close())
	}
	return f, nil
}

// create binds a socket beside the runtime's, with its owner, mode and label.
func create(path string) (*Swap, *net.UnixListener, error) {
	if err := checkAlone(path); err != nil {
		return nil, nil, err
	}
	var err error
	s := &Swap{Path: path, Parked: filepath.Join(filepath.Dir(path), fmt.Sprintf("%s%d.sock", parkedPrefix, os.Getpid()))}
	if s.runtime, err = openSocket(path); err != nil {
		return nil, nil, err
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: s.Parked, Net: "unix"})
	if err != nil {
		return nil, nil, errors.Join(err, s.runtime.Close())
	}
	l.SetUnlinkOnClose(false) // Undo does
	if s.ours, err = openSocket(s.Parked); err == nil {
		err = s.copyAttributes()
	}
	if err != nil {
		return nil, nil, errors.Join(err, os.Remove(s.Parked), l.Close(), s.close())
	}
	return s, l, nil
}

// checkAlone returns an error if another trace is attached, or has left a socket.
func checkAlone(path string) error {
	left, err := filepath.Glob(filepath.Join(filepath.Dir(path), parkedPrefix+"*"))
	if err != nil || len(left) == 0 {
		return err
	}
	var of int
	_, _ = fmt.Sscanf(strings.TrimPrefix(filepath.Base(left[0]), parkedPrefix), "%d.sock", &of)
	return leftError(path, left[0], serverOf(path), serverOf(left[0]), of)
}

// notServed is the server of a socket that refuses connections, or of none.
const notServed = -1

// serverOf returns the pid of who serves a socket, notServed, or 0 if that is not known.
func serverOf(path string) int {
	conn, err := net.DialTimeout("unix", path, servedTimeout)
	if err != nil {
		if errors.Is(err, unix.ECONNREFUSED) || errors.Is(err, fs.ErrNotExist) {
			return notServed
		}
		return 0
	}
	defer func() { _ = conn.Close() }()
	_, pid, err := unixdiag.InodeAndPeer(conn.(*net.UnixConn))
	if err != nil {
		return 0
	}
	return pid
}

// leftError returns what a socket with the name of a trace's is beside the runtime's path, by
// those who serve the two and the pid in its name.
func leftError(path, left string, server, leftServer, of int) error {
	switch {
	case leftServer == notServed:
		return hint.Errorf("rm "+left, "%s exists: a trace was killed with its watchdog, and its runtime has exited", left)
	case server == notServed:
		return hint.Errorf("mv -T "+left+" "+path, "no process listens at %s: a trace has left the runtime's socket at %s", path, left)
	case server == of || server == 0:
		return hint.Errorf("end that trace first", "%s exists: another trace is attached", left)
	case server == leftServer:
		return hint.Errorf("rm "+left, "%s exists: a trace has left it, and pid %d, which serves it, serves %s too", left, server, path)
	}
	return fmt.Errorf("%s exists: a trace has left it; pid %d serves it, and pid %d serves %s", left, leftServer, server, path)
}

// copyAttributes gives the trace's socket the owner, mode and SELinux label of the runtime's.
// Neither is reached by its name, which somebody may replace by a link.
func (s *Swap) copyAttributes() error {
	var stat unix.Stat_t
	if err := unix.Fstat(int(s.runtime.Fd()), &stat); err != nil {
		return &fs.PathError{Op: "stat", Path: s.Path, Err: err}
	}
	of, to := descriptor(s.runtime), descriptor(s.ours)
	if err := os.Chown(to, int(stat.Uid), int(stat.Gid)); err != nil {
		return err
	}
	const label = "security.selinux"
	value := make([]byte, 256)
	if n, err := unix.Getxattr(of, label, value); err == nil {
		if err := unix.Setxattr(to, label, value[:n], 0); err != nil {
			return fmt.Errorf("label %s as %s: %w", s.Parked, s.Path, err)
		}
	}
	return os.Chmod(to, os.FileMode(stat.Mode)&os.ModePerm)
}

// descriptor returns a path that leads to an open file, whatever its name.
func descriptor(f *os.File) string { return fmt.Sprintf("/proc/self/fd/%d", f.Fd()) }

// OpenSwap opens the two sockets of a swap that another process has created and not yet
// placed.
func OpenSwap(path, parked string) (*Swap, error) {
	s := &Swap{Path: path, Parked: parked}
	var err error
	if s.runtime, err = openSocket(path); err != nil {
		return nil, err
	}
	if s.ours, err = openSocket(parked); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *Swap) close() error {
	var err error
	for _, f := range []*os.File{s.runtime, s.ours} {
		if f != nil {
			err = errors.Join(err, f.Close())
		}
	}
	return err
}

// Dial connects to the runtime, whatever the names of its socket.
func (s *Swap) Dial(ctx context.Context) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, "unix", descriptor(s.runtime))
}

// socketAt says which socket is at a path.
type socketAt uint8

const (
	gone socketAt = iota // no file
	runtimes
	trace
	other
)

func (s *Swap) at(path string) socketAt {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return gone
	}
	if err != nil {
		return other
	}
	for which, f := range map[socketAt]*os.File{runtimes: s.runtime, trace: s.ours} {
		if held, err := f.Stat(); err == nil && os.SameFile(held, info) {
			return which
		}
	}
	return other
}

// placed reports whether callers reach the trace.
func (s *Swap) placed() bool { return s.at(s.Path) == trace }

// errReplaced is the error of a swap whose names stand for other sockets than expected.
var errReplaced = errors.New("was replaced by another process")

func (s *Swap) replaced() error { return fmt.Errorf("%s %w", s.Path, errReplaced) }

// exchange gives each socket the name of the other, in one step; after it Path is expected to be
// one of them and Parked the other. A runtime that restarts between the look and the step has its
// new socket at one of the names: the step is taken back where that gives Path to who serves it.
func (s *Swap) exchange(path, parked socketAt) error {
	swap := func() error {
		err := unix.Renameat2(unix.AT_FDCWD, s.Path, unix.AT_FDCWD, s.Parked, unix.RENAME_EXCHANGE)
		if err != nil {
			return &os.LinkError{Op: "exchange", Old: s.Path, New: s.Parked, Err: err}
		}
		return nil
	}
	if err := swap(); err != nil {
		return err
	}
	at, beside := s.at(s.Path), s.at(s.Parked)
	if at == path && beside == parked {
		return nil
	}
	served := s.isServed()
	switch {
	case at == runtimes && path == runtimes && served:
		return nil // callers reach the runtime, whatever is at the other name
	case isWrong(at, beside, served):
		return errors.Join(s.replaced(), swap())
	}
	return s.replaced()
}

// isWrong reports whether callers at a path do not reach the runtime: by which sockets are at the
// path and beside it, and whether the runtime's is served.
func isWrong(path, beside socketAt, served bool) bool {
	switch path {
	case runtimes:
		return !served // the runtime has restarted: beside it is the new one
	case trace:
		return beside != runtimes // it would pass calls to a runtime that has exited
	case other, gone:
	}
	return beside == runtimes && served
}

// Place puts the trace's socket in the place of the runtime's.
func (s *Swap) Place() error {
	if s.at(s.Path) != runtimes || s.at(s.Parked) != trace {
		return s.replaced()
	}
	return s.exchange(trace, runtimes)
}

// servedTimeout bounds the connection that shows whether a socket is served.
const servedTimeout = time.Second

// isServed reports whether the runtime's socket accepts connections, or may do so.
func (s *Swap) isServed() bool {
	ctx, cancel := context.WithTimeout(context.Background(), servedTimeout)
	defer cancel()
	conn, err := s.Dial(ctx)
	if err == nil {
		_ = conn.Close()
	}
	return !errors.Is(err, unix.ECONNREFUSED)
}

// Undo gives the runtime its place back, and removes the trace's socket. What others have
// put in either place stays. It may be called again, and by another process.
func (s *Swap) Undo() error {
	switch at, parked := s.at(s.Path), s.at(s.Parked); {
	case at == trace && parked == runtimes:
		if err := s.exchange(runtimes, trace); errors.Is(err, errReplaced) && s.at(s.Path) != trace {
			return s.Undo() // somebody else has the path now, and what is beside it is to go
		} else if err != nil {
			return err
		}
	case at == trace:
		return fmt.Errorf("the runtime's socket is not at %s any more: restart the runtime", s.Parked)
	case at == gone && parked == runtimes && s.isServed(): // somebody removed the trace's
		if err := unix.Renameat2(unix.AT_FDCWD, s.Parked, unix.AT_FDCWD, s.Path, unix.RENAME_NOREPLACE); err != nil {
			return &os.LinkError{Op: "rename", Old: s.Parked, New: s.Path, Err: err}
		}
	case parked == runtimes && s.isServed():
		return fmt.Errorf("%s was replaced by another process, and the runtime's socket stays at %s", s.Path, s.Parked)
	}
	if parked := s.at(s.Parked); parked == trace || parked == runtimes { // the latter of a runtime that has exited
		return os.Remove(s.Parked)
	}
	return nil
}

// Manual returns the shell command that undoes a swap by hand.
func (s *Swap) Manual() string { return strings.Join([]string{"mv -T", s.Parked, s.Path}, " ") }
