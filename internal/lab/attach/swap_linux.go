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
	conn, err := net.DialTimeout("unix", left[0], servedTimeout)
	if errors.Is(err, unix.ECONNREFUSED) {
		return hint.Errorf("rm "+left[0], "%s exists: a trace was killed with its watchdog, and its runtime has exited", left[0])
	}
	if err == nil {
		_ = conn.Close()
	}
	return hint.Errorf("end that trace first", "%s exists: another trace is attached", left[0])
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

// exchange gives each socket the name of the other, in one step. If the names stand for
// others than expected by then, it takes the step back.
func (s *Swap) exchange(expected socketAt) error {
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
	if s.at(s.Path) != expected {
		return errors.Join(fmt.Errorf("%s was replaced by another process", s.Path), swap())
	}
	return nil
}

// Place puts the trace's socket in the place of the runtime's.
func (s *Swap) Place() error {
	if s.at(s.Path) != runtimes || s.at(s.Parked) != trace {
		return fmt.Errorf("%s was replaced by another process", s.Path)
	}
	return s.exchange(trace)
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
		if err := s.exchange(runtimes); err != nil {
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
