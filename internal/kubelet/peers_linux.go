package kubelet

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/podctl/podctl/internal/proc"
)

// endpoints are the names of runtime sockets: a connection to a socket of
// another name does not lead to a runtime.
var endpoints = []string{"containerd.sock", "crio.sock", "cri-dockerd.sock"}

// peers are the processes at the ends of unix connections.
type peers struct {
	names map[string]bool // of runtime sockets
	// sockets by inode; holders are the processes that have an end of a connection to a
	// runtime open, by its inode.
	sockets map[uint32]unixSocket
	holders map[uint32][]int
}

// connected returns the processes that use the runtime at a socket: clients of
// the process that serves it, and of the runtime behind a proxy. hidden counts
// clients whose process is not visible. Paths do not matter: the kernel knows both
// ends of a connection.
func connected(ctx context.Context, path string, near neighbours) (pids []int, hidden int, err error) {
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, 0, err
	}
	defer conn.Close()
	inode, server, err := ends(conn)
	if err != nil {
		return nil, 0, err
	}
	if server == 0 {
		return nil, 0, errors.New("the runtime is in another PID namespace")
	}
	p, accepted, err := readPeers(ctx, server, inode, near)
	if err != nil {
		return nil, 0, err
	}
	return p.of(accepted), p.hidden(accepted), nil
}

// ends returns the inode of our end of a connection, and the process at the
// other one, 0 if that is in another PID namespace.
func ends(conn *net.UnixConn) (inode uint32, pid int, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, 0, err
	}
	var stat unix.Stat_t
	var cred *unix.Ucred
	var statErr, credErr error
	err = raw.Control(func(fd uintptr) {
		statErr = unix.Fstat(int(fd), &stat)
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	})
	if err := errors.Join(err, statErr, credErr); err != nil {
		return 0, 0, err
	}
	return uint32(stat.Ino), int(cred.Pid), nil
}

// acceptTries bounds the wait until the runtime has accepted our connection,
// acceptPause apart.
const (
	acceptTries = 25
	acceptPause = 20 * time.Millisecond
)

// readPeers reads the connections in the network namespaces of podctl, of the
// server and of kubelets, and returns the server's end of ours.
func readPeers(ctx context.Context, server int, ours uint32, near neighbours) (*peers, unixSocket, error) {
	p := &peers{names: map[string]bool{}}
	names, err := near.runtimeNames(ctx)
	if err != nil {
		return nil, unixSocket{}, err
	}
	for _, name := range append(names, endpoints...) {
		p.names[filepath.Base(name)] = true
	}
	networks := append([]int{os.Getpid(), server}, slices.Sorted(maps.Keys(near.kubelets))...)
	for try := 1; ; try++ {
		if err := p.readSockets(networks); err != nil {
			return nil, unixSocket{}, err
		}
		for _, s := range p.sockets {
			if s.peer == ours {
				p.names[filepath.Base(s.name)] = true
				if err := p.readHolders(ctx, near.pids); err != nil {
					return nil, s, err
				}
				if len(p.holders[s.inode]) == 0 {
					return nil, s, fmt.Errorf("the open files of the runtime (pid %d) cannot be read", server)
				}
				return p, s, nil
			}
		}
		if try == acceptTries {
			return nil, unixSocket{}, errors.New("the process that serves the socket cannot be found")
		}
		time.Sleep(acceptPause)
	}
}

func (p *peers) readSockets(networks []int) error {
	p.sockets = map[uint32]unixSocket{}
	seen := map[string]bool{}
	for _, pid := range networks {
		network, err := proc.Default.Namespace(pid, "net")
		if errors.Is(err, proc.ErrGone) || seen[network] {
			continue
		}
		if err != nil {
			return err
		}
		var list []unixSocket
		if err := inNetworkOf(pid, func() (err error) { list, err = unixSockets(); return err }); err != nil {
			if _, ended := proc.Default.Namespace(pid, "net"); errors.Is(ended, proc.ErrGone) {
				continue
			}
			return err
		}
		seen[network] = true
		for _, s := range list {
			p.sockets[s.inode] = s
		}
	}
	return nil
}

// readHolders finds the processes that have an end of a connection to a runtime open. All
// processes are looked at, with up to a million sockets each, shared or not: only what is
// asked for is kept, and once.
func (p *peers) readHolders(ctx context.Context, pids []int) error {
	p.holders = map[uint32][]int{}
	for _, s := range p.toRuntime() {
		p.holders[s.inode], p.holders[s.peer] = nil, nil
	}
	for _, pid := range pids {
		if ctx.Err() != nil {
			return fmt.Errorf("look for the runtime's clients: %w", context.Cause(ctx))
		}
		for _, inode := range proc.Default.Sockets(pid) {
			if of, asked := p.holders[inode]; asked && (len(of) == 0 || of[len(of)-1] != pid) {
				p.holders[inode] = append(of, pid)
			}
		}
	}
	return nil
}

// toRuntime returns the accepted ends of connections to runtime sockets.
func (p *peers) toRuntime() []unixSocket {
	var found []unixSocket
	for _, s := range p.sockets {
		if s.name != "" && s.peer != 0 && p.names[filepath.Base(s.name)] {
			found = append(found, s)
		}
	}
	return found
}

// listener is a runtime socket: a process and the name that it gave the socket.
type listener struct {
	pid  int
	name string
}

// listeners are those that accepted one of the connections.
func (p *peers) listeners(s unixSocket) []listener {
	var all []listener
	for _, pid := range p.holders[s.inode] {
		all = append(all, listener{pid, s.name})
	}
	return all
}

// of returns the clients of the runtime that accepted a connection, and of the
// runtimes behind it if it is a proxy; a client that is a proxy with its clients.
func (p *peers) of(accepted unixSocket) []int {
	connections := p.toRuntime()
	set := map[listener]bool{}
	var queue []listener
	add := func(more []listener) {
		for _, l := range more {
			if !set[l] {
				set[l] = true
				queue = append(queue, l)
			}
		}
	}
	add(p.listeners(accepted))
	for ; len(queue) > 0; queue = queue[1:] { // to the runtimes behind a proxy
		for _, s := range connections {
			if slices.Contains(p.holders[s.peer], queue[0].pid) {
				add(p.listeners(s))
			}
		}
	}
	for l := range set {
		queue = append(queue, l)
	}
	clients := map[int]bool{}
	for ; len(queue) > 0; queue = queue[1:] { // to the clients of a proxy
		for _, s := range connections {
			if !slices.Contains(p.listeners(s), queue[0]) {
				continue
			}
			for _, pid := range p.holders[s.peer] {
				if pid == os.Getpid() {
					continue
				}
				clients[pid] = true
				for _, own := range connections {
					if slices.Contains(p.holders[own.inode], pid) {
						add(p.listeners(own))
					}
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(clients))
}

// hidden counts the clients of the server whose process is not visible.
func (p *peers) hidden(accepted unixSocket) int {
	n := 0
	for _, s := range p.toRuntime() {
		same := slices.ContainsFunc(p.listeners(s), func(l listener) bool { return slices.Contains(p.listeners(accepted), l) })
		if same && len(p.holders[s.peer]) == 0 {
			n++
		}
	}
	return n
}
