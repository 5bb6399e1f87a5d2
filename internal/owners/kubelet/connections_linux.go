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

	"github.com/podctl/podctl/internal/sys/proc"
	"github.com/podctl/podctl/internal/sys/unixdiag"
)

// endpoints are the names of runtime sockets: a connection to a socket of
// another name does not lead to a runtime.
var endpoints = []string{"containerd.sock", "crio.sock", "cri-dockerd.sock"}

// connectionTable holds the unix connections to runtimes, and the processes at their
// ends.
type connectionTable struct {
	names map[string]bool // of runtime sockets
	// sockets are all unix sockets by inode; holders are the processes that have an end
	// of a connection to a runtime open, by the inode of that end.
	sockets map[uint32]unixdiag.Socket
	holders map[uint32][]int
}

// clientsOfRuntime returns the processes that use the runtime at a socket: clients of
// the process that serves it, and of the runtime behind a proxy. hidden counts
// clients whose process is not visible. Paths do not matter: the kernel knows both
// ends of a connection.
func clientsOfRuntime(ctx context.Context, path string, visible visibleProcesses) (pids []int, hidden int, err error) {
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, 0, err
	}
	defer conn.Close()
	inode, server, err := unixdiag.InodeAndPeer(conn)
	if err != nil {
		return nil, 0, err
	}
	if server == 0 {
		return nil, 0, errors.New("the runtime is in another PID namespace")
	}
	t, accepted, err := readConnections(ctx, server, inode, visible)
	if err != nil {
		return nil, 0, err
	}
	return t.clients(accepted), t.countHidden(accepted), nil
}

// acceptTries is how often podctl looks, acceptPause apart, until the runtime has
// accepted its connection.
const (
	acceptTries = 25
	acceptPause = 20 * time.Millisecond
)

// readConnections reads the connections in the network namespaces of podctl, of the
// server and of kubelets, and returns the server's end of ours.
func readConnections(ctx context.Context, server int, ours uint32, visible visibleProcesses) (*connectionTable, unixdiag.Socket, error) {
	t := &connectionTable{names: map[string]bool{}}
	names, err := visible.runtimeNames(ctx)
	if err != nil {
		return nil, unixdiag.Socket{}, err
	}
	for _, name := range append(slices.Collect(maps.Values(names)), endpoints...) {
		t.names[filepath.Base(name)] = true
	}
	networks := append([]int{os.Getpid(), server}, slices.Sorted(maps.Keys(visible.kubelets))...)
	for try := 1; ; try++ {
		if err := t.readSockets(networks); err != nil {
			return nil, unixdiag.Socket{}, err
		}
		for _, s := range t.sockets {
			if s.Peer == ours {
				t.names[filepath.Base(s.Name)] = true
				if err := t.readHolders(ctx, visible.pids); err != nil {
					return nil, s, err
				}
				if len(t.holders[s.Inode]) == 0 {
					return nil, s, fmt.Errorf("the open files of the runtime (pid %d) cannot be read", server)
				}
				return t, s, nil
			}
		}
		if try == acceptTries {
			return nil, unixdiag.Socket{}, errors.New("the process that serves the socket cannot be found")
		}
		time.Sleep(acceptPause)
	}
}

func (t *connectionTable) readSockets(networks []int) error {
	t.sockets = map[uint32]unixdiag.Socket{}
	seen := map[string]bool{}
	for _, pid := range networks {
		network, err := proc.Default.Namespace(pid, "net")
		if errors.Is(err, proc.ErrGone) || seen[network] {
			continue
		}
		if err != nil {
			return err
		}
		var list []unixdiag.Socket
		if err := inNetworkOf(pid, func() (err error) { list, err = unixdiag.List(); return err }); err != nil {
			if _, ended := proc.Default.Namespace(pid, "net"); errors.Is(ended, proc.ErrGone) {
				continue
			}
			return err
		}
		seen[network] = true
		for _, s := range list {
			t.sockets[s.Inode] = s
		}
	}
	return nil
}

// readHolders finds the processes that have an end of a connection to a runtime open. It
// reads the sockets of all processes, up to a million each, and keeps only those ends.
func (t *connectionTable) readHolders(ctx context.Context, pids []int) error {
	t.holders = map[uint32][]int{}
	for _, s := range t.toRuntime() {
		t.holders[s.Inode], t.holders[s.Peer] = nil, nil
	}
	for _, pid := range pids {
		if ctx.Err() != nil {
			return fmt.Errorf("look for the runtime's clients: %w", context.Cause(ctx))
		}
		for _, inode := range proc.Default.Sockets(pid) {
			if of, asked := t.holders[inode]; asked && (len(of) == 0 || of[len(of)-1] != pid) {
				t.holders[inode] = append(of, pid)
			}
		}
	}
	return nil
}

// toRuntime returns the accepted ends of connections to runtime sockets.
func (t *connectionTable) toRuntime() []unixdiag.Socket {
	var found []unixdiag.Socket
	for _, s := range t.sockets {
		if s.Name != "" && s.Peer != 0 && t.names[filepath.Base(s.Name)] {
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

// listeners returns the sockets that accepted a connection, one for each process that
// has its end open.
func (t *connectionTable) listeners(s unixdiag.Socket) []listener {
	var all []listener
	for _, pid := range t.holders[s.Inode] {
		all = append(all, listener{pid, s.Name})
	}
	return all
}

// clients returns the clients of the runtime that accepted a connection. If that is a
// proxy, the clients of the runtimes behind it are included; if a client is a proxy, so
// are its clients.
func (t *connectionTable) clients(accepted unixdiag.Socket) []int {
	connections := t.toRuntime()
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
	add(t.listeners(accepted))
	for ; len(queue) > 0; queue = queue[1:] { // to the runtimes behind a proxy
		for _, s := range connections {
			if slices.Contains(t.holders[s.Peer], queue[0].pid) {
				add(t.listeners(s))
			}
		}
	}
	for l := range set {
		queue = append(queue, l)
	}
	clients := map[int]bool{}
	for ; len(queue) > 0; queue = queue[1:] { // to the clients of a proxy
		for _, s := range connections {
			if !slices.Contains(t.listeners(s), queue[0]) {
				continue
			}
			for _, pid := range t.holders[s.Peer] {
				if pid == os.Getpid() {
					continue
				}
				clients[pid] = true
				for _, own := range connections {
					if slices.Contains(t.holders[own.Inode], pid) {
						add(t.listeners(own))
					}
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(clients))
}

// countHidden counts the clients of the server whose process is not visible.
func (t *connectionTable) countHidden(accepted unixdiag.Socket) int {
	n := 0
	for _, s := range t.toRuntime() {
		same := slices.ContainsFunc(t.listeners(s), func(l listener) bool { return slices.Contains(t.listeners(accepted), l) })
		if same && len(t.holders[s.Peer]) == 0 {
			n++
		}
	}
	return n
}
