package control

import (
	"bufio"
	"errors"
	"net"
	"net/http"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a listener of connections in memory.
type pipes struct {
	conns  chan net.Conn
	closed chan struct{}
}

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.conns:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error   { close(p.closed); return nil }
func (p *pipes) Addr() net.Addr { return &net.UnixAddr{} }

// A thousand connections that send nothing hold a bounded number of
// descriptors, and keep no health check waiting.
func TestPublicPortBoundsIdleConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := &pipes{conns: make(chan net.Conn, 1001), closed: make(chan struct{})}
		s := ServePublic(p, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }), nil)
		var idle []net.Conn
		for range 1000 {
			here, there := net.Pipe()
			p.conns <- there
			idle = append(idle, here)
		}
		synctest.Wait()
		began := time.Now()
		here, there := net.Pipe()
		p.conns <- there
		go func() { _, _ = here.Write([]byte("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")) }()
		answer, err := http.ReadResponse(bufio.NewReader(here), nil)
		if err != nil || answer.StatusCode != http.StatusNoContent {
			t.Fatalf("after the idle connections: %v, %v", answer, err)
		}
		if waited := time.Since(began); waited > 0 {
			t.Errorf("the answer took %s", waited)
		}
		open := 0
		for _, c := range idle {
			_ = c.SetReadDeadline(time.Now().Add(time.Millisecond))
			if _, err := c.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
				open++
			}
		}
		if open != maxConnections-1 {
			t.Errorf("%d idle connections are open, want %d", open, maxConnections-1)
		}
		_ = here.Close()
		for _, c := range idle {
			_ = c.Close()
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		time.Sleep(2 * idleTimeout) // in the bubble: every goroutine has ended
	})
}
