package daemon

import (
	"log/slog"
	"sync"

	"github.com/podctl/podctl/internal/owners/control"
)

// controlSocket is the control socket of a session, which is opened again if its
// directory was deleted. A session goes on without one.
type controlSocket struct {
	log  *slog.Logger
	open func() (*control.Server, error)

	mu     sync.Mutex
	server *control.Server
	closed bool
}

// reopen opens the socket, in place of the one that was open. It does not wait
// for requests that are being answered.
func (c *controlSocket) reopen() {
	c.mu.Lock()
	old := c.server
	c.server = nil
	c.mu.Unlock()
	if old == nil {
		c.openNow()
		return
	}
	go func() {
		_ = old.Close() // its file is gone
		c.openNow()
	}()
}

func (c *controlSocket) openNow() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed || c.server != nil {
		return
	}
	server, err := c.open()
	if err != nil {
		c.log.Warn("no control socket", "err", err)
		return
	}
	c.server = server
}

// Close closes the socket for good.
func (c *controlSocket) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	if c.server == nil {
		return nil
	}
	return c.server.Close()
}
