package owners

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"slices"
)

// Dial connects to the control socket of a podctl process as it was when the answers were
// stored: it shows its pods and its node, and nothing else.
func (s Saved) Dial(_ context.Context, socket string) (net.Conn, error) {
	i := slices.IndexFunc(s.Processes, func(p SavedProcess) bool { return p.Socket == socket })
	if i < 0 || s.Processes[i].Pods == nil {
		return nil, fmt.Errorf("control socket %s: not recorded", socket)
	}
	mux := http.NewServeMux()
	show := func(path string, object any) {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(object) // the client has gone
		})
	}
	show("/pods", s.Processes[i].Pods)
	if s.Processes[i].Node != nil {
		show("/node", s.Processes[i].Node)
	}
	ours, theirs := net.Pipe()
	l := &oneConn{conn: ours, closed: make(chan struct{})}
	server := &http.Server{Handler: mux, ConnState: func(_ net.Conn, state http.ConnState) {
		if state == http.StateClosed {
			_ = l.Close()
		}
	}}
	go func() { _ = server.Serve(l) }() // until the client closes its end
	return theirs, nil
}

// oneConn is a listener of one connection.
type oneConn struct {
	conn   net.Conn
	closed chan struct{}
}

func (l *oneConn) Accept() (net.Conn, error) {
	if c := l.conn; c != nil {
		l.conn = nil
		return c, nil
	}
	<-l.closed
	return nil, net.ErrClosed
}

func (l *oneConn) Close() error {
	select {
	case <-l.closed:
	default:
		close(l.closed)
	}
	return nil
}

func (l *oneConn) Addr() net.Addr { return &net.UnixAddr{Name: "recorded", Net: "unix"} }
