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

	"github.com/podctl/podctl/internal/owner"
	"github.com/podctl/podctl/internal/ownsocket"
)

// suffix of sockets.
const suffix = ".sock"

// Path is where the instance of that name has its socket.
func Path(dir, instance string) string {
	return filepath.Join(dir, url.PathEscape(instance)+suffix)
}

// instanceOf is the name of the instance that has its socket at the path.
func instanceOf(path string) string {
	name := strings.TrimSuffix(filepath.Base(path), suffix)
	if instance, err := url.PathUnescape(name); err == nil {
		return instance
	}
	return name
}

// Listen makes the instance's socket. The instance holds its lock in dir, so a
// socket of that name which is there already is one of the dead, and is
// replaced; those of other dead instances are removed. Closing the listener
// removes the socket.
func Listen(dir, instance string) (net.Listener, error) {
	sweep(dir)
	path := Path(dir, instance)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("listen at %s: %w", path, err)
	}
	near, done, err := nearby(path)
	if err != nil {
		return nil, fmt.Errorf("listen at %s: %w", path, err)
	}
	defer done()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: near, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("listen at %s: %w", path, err)
	}
	l.SetUnlinkOnClose(false) // it would unlink near
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return ownsocket.Own(l, path)
}

// sockets are the paths of all sockets in dir, sorted: none if it is not there.
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

// sweep removes the sockets whose instances are dead. An instance of that name
// may come meanwhile: so a socket is moved aside before the last look at the
// lock, and back if its owner lives. What cannot be removed does no harm.
func sweep(dir string) {
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

// maxAddress is how long a unix socket's address may be everywhere.
const maxAddress = 100

// nearby is a short address for the path, good until done is called: the
// kernel takes no more than 107 bytes.
func nearby(path string) (address string, done func(), err error) {
	if len(path) <= maxAddress {
		return path, func() {}, nil
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(path)), func() { _ = dir.Close() }, nil
}
