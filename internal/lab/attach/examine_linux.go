package attach

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/podctl/podctl/internal/sys/hint"
	"github.com/podctl/podctl/internal/sys/proc"
	"github.com/podctl/podctl/internal/sys/unixdiag"
)

// Runtime is the process that serves a socket, and who is connected to it.
type Runtime struct {
	// Path is that of the socket, without links.
	Path    string
	PID     int
	Comm    string
	Callers []Caller
	// bound is the name by which the kernel knows the socket.
	bound string
	pidfd int
	// asked are the connections whose callers Redirect has asked, by inode.
	asked map[uint32]bool
}

// Caller is a process with connections to a runtime.
type Caller struct {
	PID         int // 0 if it is not visible
	Comm        string
	Connections int
}

// connection is one that a runtime has accepted.
type connection struct {
	inode uint32
	fd    int // of the runtime
	pid   int // of the caller, 0 if it is not visible
}

// acceptTime bounds how long a runtime may take to accept the connection by which it is
// examined.
const acceptTime = time.Second

// Examine finds out who serves a socket and who is connected to it, and returns an error
// where a trace must not be attached.
func Examine(path string) (*Runtime, error) {
	path, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, err
	}
	conn, err := net.DialTimeout("unix", path, acceptTime)
	if err != nil {
		return nil, cmp.Or(checkAlone(path), err) // the runtime may be beside its path
	}
	defer func() { _ = conn.Close() }()
	inode, pid, err := unixdiag.InodeAndPeer(conn.(*net.UnixConn))
	if err != nil {
		return nil, err
	}
	r := &Runtime{Path: path, PID: pid, Comm: proc.Default.Comm(pid), asked: map[uint32]bool{}}
	switch pid {
	case 0:
		return nil, errors.New("the runtime is in another PID namespace, so that its connections cannot be seen")
	case 1:
		return nil, hint.Errorf("podctl trace --listen SOCKET", "the socket is served by pid 1 for the runtime (socket activation)")
	}
	if r.pidfd, err = unix.PidfdOpen(pid, 0); err != nil {
		return nil, fmt.Errorf("observe the runtime (pid %d): %w", pid, err)
	}
	if err := r.awaitAccepted(inode); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	connections, err := r.connections()
	if err != nil {
		return nil, errors.Join(err, r.Close())
	}
	r.Callers = countByCaller(connections)
	if err := checkDescriptors(len(connections)); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// spareDescriptors are for the trace itself, and for callers that come meanwhile.
const spareDescriptors = 100

// checkDescriptors returns an error if this process may not have the descriptors that so many
// connections of callers need, each also to the runtime: callers would wait for an accept.
func checkDescriptors(connections int) error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return err
	}
	open, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		return err
	}
	if need := uint64(len(open) + 2*connections + spareDescriptors); need > limit.Cur {
		return hint.Errorf(fmt.Sprintf("ulimit -n %d", 2*need), "%d descriptors are needed for %d connections of callers, and %d are allowed", need, connections, limit.Cur)
	}
	return nil
}

// Close forgets the runtime.
func (r *Runtime) Close() error { return unix.Close(r.pidfd) }

// awaitAccepted waits until the runtime has accepted the connection with this inode, and tries
// whether its end may be had: without that its callers could not be asked to reconnect.
func (r *Runtime) awaitAccepted(ours uint32) error {
	for end := time.Now().Add(acceptTime); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		sockets, err := unixdiag.List()
		if err != nil {
			return err
		}
		i := slices.IndexFunc(sockets, func(s unixdiag.Socket) bool { return s.Peer == ours })
		if i < 0 {
			continue
		}
		fd, held := proc.Default.SocketDescriptors(r.PID)[sockets[i].Inode]
		if !held {
			continue // not yet accepted
		}
		r.bound = sockets[i].Name
		end, err := r.duplicate(connection{inode: sockets[i].Inode, fd: fd})
		if err != nil {
			return fmt.Errorf("take a descriptor of the runtime (pid %d): %w", r.PID, err)
		}
		return unix.Close(end)
	}
	return fmt.Errorf("the connections of the runtime (pid %d) cannot be seen: it is in another network namespace, or its descriptors must not be read", r.PID)
}

// duplicate returns a descriptor of the runtime's end of a connection.
func (r *Runtime) duplicate(c connection) (int, error) {
	fd, err := unix.PidfdGetfd(r.pidfd, c.fd, 0)
	if err != nil {
		return -1, err
	}
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil || uint32(stat.Ino) != c.inode {
		return -1, errors.Join(err, unix.Close(fd), unix.ENOTCONN)
	}
	return fd, nil
}

// connections returns those that callers have to the runtime's socket.
func (r *Runtime) connections() ([]connection, error) {
	sockets, err := unixdiag.List()
	if err != nil {
		return nil, err
	}
	held := proc.Default.SocketDescriptors(r.PID)
	all := map[uint32]connection{} // by the inode of the caller's end
	for _, s := range sockets {
		if fd, ok := held[s.Inode]; ok && s.Peer != 0 && s.Name == r.bound {
			all[s.Peer] = connection{inode: s.Inode, fd: fd}
		}
	}
	pids, err := proc.Default.PIDs()
	if err != nil {
		return nil, err
	}
	for _, pid := range pids {
		for _, inode := range proc.Default.Sockets(pid) {
			if c, ok := all[inode]; ok {
				c.pid = pid
				all[inode] = c
			}
		}
	}
	var found []connection
	for _, c := range all {
		if c.pid != os.Getpid() {
			found = append(found, c)
		}
	}
	return found, nil
}

// countByCaller groups connections by caller, sorted by pid.
func countByCaller(connections []connection) []Caller {
	var callers []Caller
	for _, c := range connections {
		i := slices.IndexFunc(callers, func(of Caller) bool { return of.PID == c.pid })
		if i < 0 {
			callers, i = append(callers, Caller{PID: c.pid, Comm: proc.Default.Comm(c.pid)}), len(callers)
		}
		callers[i].Connections++
	}
	slices.SortFunc(callers, func(a, b Caller) int { return cmp.Compare(a.PID, b.PID) })
	return callers
}
