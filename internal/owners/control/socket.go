package control

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/podctl/podctl/internal/owners/owner"
	"github.com/podctl/podctl/internal/sys/ownsocket"
)

// suffix of sockets.
const suffix = ".sock"

// Path returns the path of an instance's socket.
func Path(dir, instance string) string {
	return filepath.Join(dir, url.PathEscape(instance)+suffix)
}

// instanceOf returns the name of the instance whose socket has the path.
func instanceOf(path string) string {
	name := strings.TrimSuffix(filepath.Base(path), suffix)
	if instance, err := url.PathUnescape(name); err == nil {
		return instance
	}
	return name
}

// Listen creates the instance's socket. The instance holds its lock in dir, so an existing
// socket of its name is stale, and is replaced. Sockets of other instances that have exited
// are removed. Closing the listener removes the socket.
func Listen(dir, instance string) (net.Listener, error) {
	removeDeadSockets(dir)
	path := Path(dir, instance)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("listen at %s: %w", path, err)
	}
	near, done, err := shortAddress(path)
	if err != nil {
		return nil, fmt.Errorf("listen at %s: %w", path, err)
	}
	defer done()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: near, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listen at %s: %w", path, err)
	}
	l.SetUnlinkOnClose(false) // it would unlink the short address
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return ownsocket.Own(l, path)
}

// sockets returns the paths of all sockets in dir, sorted; none if dir does not exist.
func sockets(dir string) ([]string, error) {
	files, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var paths []string
	for _, f := range files {
		if strings.HasSuffix(f.Name(), suffix) {
			paths = append(paths, filepath.Join(dir, f.Name()))
		}
	}
	return paths, nil
}

// removeDeadSockets removes the sockets of instances that have exited. An instance of the
// same name may start meanwhile: a socket is therefore moved aside before its lock is
// checked again, and moved back if its owner is alive. A socket that cannot be removed does
// no harm.
func removeDeadSockets(dir string) {
	paths, _ := sockets(dir)
	for _, path := range paths {
		if alive, err := owner.Alive(dir, instanceOf(path)); alive || err != nil {
			continue
		}
		aside := path + ".dead"
		if os.Rename(path, aside) != nil {
			continue
		}
		if alive, err := owner.Alive(dir, instanceOf(path)); alive || err != nil {
			_ = os.Rename(aside, path)
			continue
		}
		_ = os.Remove(aside)
	}
}

// maxAddress is a length that every system accepts as a unix socket's address.
const maxAddress = 100

// shortAddress returns a short address for the path, valid until done is called: the kernel
// accepts at most 107 bytes.
func shortAddress(path string) (address string, done func(), err error) {
	if len(path) <= maxAddress {
		return path, func() {}, nil
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(path)), func() { _ = dir.Close() }, nil
}
