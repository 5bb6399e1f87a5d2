package host

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/podctl/podctl/internal/node/poddir"
)

// Paths are the directories in which podctl keeps its files. In an argument,
// "" is a path that was not given.
type Paths struct {
	// Root holds the pods' directories, Logs the containers' log files.
	Root, Logs string
	// Locks holds locks and control sockets.
	Locks string
}

// DefaultPaths are the directories of a real runtime's pods. Those of one
// runtime are DefaultPaths.ForRuntime.
var DefaultPaths = Paths{Root: "/var/lib/podctl", Logs: "/var/log/podctl/pods", Locks: "/run/podctl"}

// Below returns the paths below one directory.
func Below(dir string) Paths {
	return Paths{Root: filepath.Join(dir, "root"), Logs: filepath.Join(dir, "logs"), Locks: filepath.Join(dir, "run")}
}

// With returns the given paths, absolute, and those of p where none is given.
func (p Paths) With(given Paths) (Paths, error) {
	result := Paths{
		Root: cmp.Or(given.Root, p.Root), Logs: cmp.Or(given.Logs, p.Logs), Locks: cmp.Or(given.Locks, p.Locks),
	}
	for _, path := range []*string{&result.Root, &result.Logs, &result.Locks} {
		abs, err := filepath.Abs(*path)
		if err != nil {
			return Paths{}, err
		}
		*path = abs
	}
	return result, nil
}

// ForRuntime returns the paths with the lock directory of one runtime.
func (p Paths) ForRuntime(endpoint string) Paths {
	p.Locks = filepath.Join(p.Locks, RuntimeID(endpoint))
	return p
}

// Pods is the directory of the pods' directories.
func (p Paths) Pods() string { return filepath.Join(p.Root, "pods") }

// Dirs names the pods' directories. The paths are those of one runtime.
func (p Paths) Dirs() *poddir.Dirs { return poddir.New(p.Pods(), filepath.Base(p.Locks)) }

// Seccomp is the directory of local seccomp profiles.
func (p Paths) Seccomp() string { return filepath.Join(p.Root, "seccomp") }

// CgroupRoot names the cgroup of all pods of a runtime: by its fingerprint (see owner.Runtime), since a
// runtime in a mount namespace of its own can have the same socket, and so the same id. The id is for
// a runtime without one.
func CgroupRoot(runtimeID, fingerprint string) string {
	return cgroupRootPrefix + cmp.Or(fingerprint, runtimeID)
}

const cgroupRootPrefix = "podctl-"

// CgroupRootAt returns the root that a directory at the top of a hierarchy is, in the spelling of
// either cgroup driver; "" if it is none of podctl's for a runtime.
func CgroupRootAt(dir string) string {
	if slice, ok := strings.CutSuffix(dir, ".slice"); ok {
		dir = strings.ReplaceAll(slice, "_", "-")
	}
	id, ours := strings.CutPrefix(dir, cgroupRootPrefix)
	if !ours || len(id) != 2*idBytes && len(id) != 16 || strings.Trim(id, "0123456789abcdef") != "" {
		return ""
	}
	return dir
}

// idBytes are the bytes of the hash in a RuntimeID.
const idBytes = 6

// RuntimeID identifies a runtime of this machine by its socket: locks are about
// the pods of one runtime. It has one id by every path to the
// socket: /run and /var/run are often the same, and a socket may be mounted or
// linked at several places.
func RuntimeID(endpoint string) string {
	if path, unix := strings.CutPrefix(endpoint, "unix://"); unix {
		endpoint = "unix://" + socketName(path)
	}
	id := sha256.Sum256([]byte(endpoint))
	return hex.EncodeToString(id[:idBytes])
}

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
