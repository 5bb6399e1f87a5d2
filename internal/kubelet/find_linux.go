package kubelet

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// CheckNone returns a *BesideError if another process that is a kubelet is
// connected to the unix socket at path. A kubelet on another socket is not an
// error.
func CheckNone(path string) error {
	clients, err := clientsOf(path)
	if err != nil {
		return fmt.Errorf("look for a kubelet on %s: %w", path, err)
	}
	for _, ours := range socketsOf(os.Getpid()) {
		delete(clients, ours)
	}
	if len(clients) == 0 { // the usual case: no need to read all processes
		return nil
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return fmt.Errorf("look for a kubelet on %s: %w", path, err)
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == os.Getpid() {
			continue
		}
		p := readProcess(pid)
		if isKubelet(p) && holdsAny(pid, clients) {
			return &BesideError{Socket: path, PID: pid, Exe: p.exe}
		}
	}
	return nil
}

// clientsOf returns the inodes of the sockets connected to the listener at path.
func clientsOf(path string) (map[uint32]bool, error) {
	sockets, err := unixSockets()
	if err != nil {
		return nil, err
	}
	path = resolve(path)
	name := filepath.Base(path) // which is no symlink: a socket cannot be bound to one
	clients := map[uint32]bool{}
	for _, s := range sockets {
		// An accepted socket has the listener's name; its peer is the client.
		if filepath.Base(s.name) == name && s.peer != 0 && resolve(s.name) == path {
			clients[s.peer] = true
		}
	}
	return clients, nil
}

func resolve(path string) string {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	return filepath.Clean(path)
}

// readProcess reads what is readable; a process that has exited is no kubelet.
func readProcess(pid int) process {
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	p := process{pid: pid}
	p.exe, _ = os.Readlink(filepath.Join(dir, "exe"))
	if b, err := os.ReadFile(filepath.Join(dir, "cmdline")); err == nil {
		for arg := range bytes.SplitSeq(bytes.TrimRight(b, "\x00"), []byte{0}) {
			p.args = append(p.args, string(arg))
		}
	}
	return p
}

func holdsAny(pid int, inodes map[uint32]bool) bool {
	return slices.ContainsFunc(socketsOf(pid), func(inode uint32) bool { return inodes[inode] })
}

// socketsOf returns the inodes of the sockets that a process has open, none if
// they are not readable.
func socketsOf(pid int) (inodes []uint32) {
	dir := filepath.Join("/proc", strconv.Itoa(pid), "fd")
	fds, _ := os.ReadDir(dir)
	for _, fd := range fds {
		target, err := os.Readlink(filepath.Join(dir, fd.Name()))
		if err != nil {
			continue
		}
		var inode uint32
		if n, _ := fmt.Sscanf(target, "socket:[%d]", &inode); n == 1 {
			inodes = append(inodes, inode)
		}
	}
	return inodes
}
