package control

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Server serves one listener. Make one with Serve.
type Server struct {
	http *http.Server
	done sync.WaitGroup
}

// Serve serves the handler until Close. It returns at once, and logs an error that ends
// it.
func Serve(l net.Listener, h http.Handler, log *slog.Logger) *Server {
	return serve(&http.Server{Handler: h, ReadHeaderTimeout: readTimeout, IdleTimeout: idleTimeout}, l, log)
}

// Limits of a port that any machine may connect to: connections that send or read nothing
// are closed, and their number is bounded, because each takes a file descriptor.
const (
	maxConnections = 256
	idleTimeout    = 30 * time.Second
	writeTimeout   = 30 * time.Second
)

// ServePublic serves a handler, which must answer at once, on a port of the machine.
func ServePublic(l net.Listener, h http.Handler, log *slog.Logger) *Server {
	limiter := &idleConnLimiter{limit: maxConnections, open: map[net.Conn]bool{}}
	return serve(&http.Server{
		Handler: h, ConnState: limiter.connState, ReadHeaderTimeout: readTimeout, ReadTimeout: readTimeout, WriteTimeout: writeTimeout, IdleTimeout: idleTimeout,
		MaxHeaderBytes: 16 << 10,
	}, l, log)
}

func serve(server *http.Server, l net.Listener, log *slog.Logger) *Server {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	s := &Server{http: server}
	server.ErrorLog = slog.NewLogLogger(log.Handler(), slog.LevelWarn)
	s.done.Go(func() {
		if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			log.Warn("control server", "address", l.Addr(), "err", err)
		}
	})
	return s
}

// closeTimeout is how long requests in flight may take to end.
const closeTimeout = time.Second

// Close ends the server; requests that do not end soon are cut off.
func (s *Server) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	err := s.http.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.http.Close()
	}
	s.done.Wait()
	return err
}

// idleConnLimiter bounds the open connections of a server. If there are too many, it
// closes the connection that has been idle for longest, so that new ones are answered: idle
// clients must not delay a health check.
type idleConnLimiter struct {
	limit int

	mu   sync.Mutex
	open map[net.Conn]bool
	// waiting are those without a request, the oldest first.
	waiting []net.Conn
}

// connState is a callback for http.Server.
func (c *idleConnLimiter) connState(conn net.Conn, state http.ConnState) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if state != http.StateNew && !c.open[conn] {
		return // closed below
	}
	c.waiting = slices.DeleteFunc(c.waiting, func(w net.Conn) bool { return w == conn })
	switch state {
	case http.StateNew, http.StateIdle:
		c.open[conn] = true
		c.waiting = append(c.waiting, conn)
	case http.StateClosed, http.StateHijacked:
		delete(c.open, conn)
	case http.StateActive:
	}
	if len(c.open) > c.limit { // by a new one, which waits
		oldest := c.waiting[0]
		c.waiting = c.waiting[1:]
		delete(c.open, oldest)
		_ = oldest.Close()
	}
}
