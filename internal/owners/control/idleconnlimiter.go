package control

import (
	"net"
	"net/http"
	"slices"
	"sync"
)

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
