package ownsocket

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// ErrInUse is the error of Listen for a socket that a process serves, or a path
// that is no socket.
var ErrInUse = errors.New("in use")

// listenDial bounds the connection that shows whether a socket is served.
const listenDial = time.Second

// Listen creates a unix socket that only its user can connect to, from its first
// moment on. A socket that no process serves any more is replaced; anything else
// at the path is ErrInUse. Closing the listener removes the socket.
func Listen(path string) (net.Listener, error) {
	if err := unserved(path); err != nil {
		return nil, fmt.Errorf("listen at %s: %w", path, err)
	}
	dir, err := os.MkdirTemp(filepath.Dir(path), ".listen")
	if err != nil {
		return nil, fmt.Errorf("listen at %s: %w", path, err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	fresh := filepath.Join(dir, "s")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: fresh, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listen at %s: %w", path, err)
	}
	l.SetUnlinkOnClose(false) // it would unlink fresh, which is gone
	err = os.Chmod(fresh, 0o600)
	if err == nil {
		err = replace(path, fresh, filepath.Join(dir, "old"))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("listen at %s: %w", path, err), l.Close())
	}
	own, err := Own(l, path)
	if err != nil {
		return nil, fmt.Errorf("listen at %s: %w", path, err)
	}
	return own, nil
}

// replace puts fresh at path. What is there already is moved aside and examined
// again: another process may serve it by now.
func replace(path, fresh, aside string) error {
	err := os.Rename(path, aside)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	default:
		if err := unserved(aside); err != nil {
			return errors.Join(err, os.Link(aside, path))
		}
	}
	if err := os.Link(fresh, path); errors.Is(err, fs.ErrExist) {
		return ErrInUse
	} else if err != nil {
		return err
	}
	return nil
}

// unserved returns nil if nothing is at the path, or a socket that refuses
// connections.
func unserved(path string) error {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case info.Mode().Type() != fs.ModeSocket:
		return fmt.Errorf("%w: it is not a socket", ErrInUse)
	}
	conn, err := net.DialTimeout("unix", path, listenDial)
	if err == nil {
		return errors.Join(fmt.Errorf("%w: another process serves it", ErrInUse), conn.Close())
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("%w: %w", ErrInUse, err)
	}
	return nil
}
