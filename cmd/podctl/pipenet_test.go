package main

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"syscall"

	"github.com/podctl/podctl/internal/owners/control"
)

// pipeNet stands for unix sockets where time is virtual: there no goroutine may wait
// for the network. A socket is an empty file, so that it can be found.
type pipeNet struct {
	mu sync.Mutex
	at map[string]*pipeListener
}

type pipeListener struct {
	net    *pipeNet
	path   string
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (n *pipeNet) listen(dir, instance string) (net.Listener, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := &pipeListener{net: n, path: control.Path(dir, instance), conns: make(chan net.Conn), closed: make(chan struct{})}
	if n.at == nil {
		n.at = map[string]*pipeListener{}
	}
	n.at[l.path] = l
	return l, os.WriteFile(l.path, nil, 0o600)
}

func (n *pipeNet) dial(ctx context.Context, path string) (net.Conn, error) {
	n.mu.Lock()
	l := n.at[path]
	n.mu.Unlock()
	if l == nil {
		return nil, syscall.ECONNREFUSED
	}
	here, there := net.Pipe()
	select {
	case l.conns <- there:
		return here, nil
	case <-l.closed:
		return nil, syscall.ECONNREFUSED
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *pipeListener) Close() error {
	err := errors.New("closed already")
	l.once.Do(func() {
		close(l.closed)
		l.net.mu.Lock()
		defer l.net.mu.Unlock()
		delete(l.net.at, l.path)
		err = os.Remove(l.path)
	})
	return err
}

func (l *pipeListener) Addr() net.Addr { return &net.UnixAddr{Name: l.path, Net: "unix"} }
