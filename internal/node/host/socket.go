package host

import (
	"net"
	"os"
	"path/filepath"
	"time"
)

// socketTimeout bounds the connection by which a socket's name is read.
const socketTimeout = time.Second

// socketName returns the path at which a runtime bound its socket, for any other
// path to the same socket: a symbolic link, a bind mount or a hard link. Where
// that cannot be determined it is the path without symbolic links.
func socketName(path string) string {
	path = realPath(path)
	conn, err := net.DialTimeout("unix", path, socketTimeout)
	if err != nil {
		return path
	}
	defer func() { _ = conn.Close() }()
	bound := conn.RemoteAddr().String()
	if bound == path || !filepath.IsAbs(bound) {
		return path
	}
	given, err := os.Stat(path)
	if err != nil {
		return path
	}
	// The runtime may have bound it in another mount namespace.
	if there, err := os.Stat(bound); err != nil || !os.SameFile(given, there) {
		return path
	}
	return realPath(bound)
}

func realPath(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return path
}
