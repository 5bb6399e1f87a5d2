package relay

import (
	"net"
	"sync"
)

// GoAway is the frame that asks the client of an HTTP/2 connection to make its next calls
// on a new one. Calls in flight, of whatever number, go on. It may be written only between
// two frames of the server.
var GoAway = []byte{0, 0, 8, 7, 0, 0, 0, 0, 0, 0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0}

// Frame types of HTTP/2.
const (
	frameHeaders      = 1
	frameSettings     = 4
	framePush         = 5
	frameContinuation = 9
	flagEndHeaders    = 4
)

// boundary follows the frames of a server. The zero value is at the beginning.
type boundary struct {
	header  [frameHeaderSize]byte
	have    int // bytes of header
	rest    int // bytes of the frame that are to come
	started bool
	// open: headers are to be continued, and no other frame may stand between.
	open bool
	// notHTTP2: the server does not begin with SETTINGS. It stays so.
	notHTTP2 bool
}

// advance follows the bytes that were passed on.
func (b *boundary) advance(data []byte) {
	for len(data) > 0 && !b.notHTTP2 {
		if b.rest > 0 {
			n := min(b.rest, len(data))
			b.rest, data = b.rest-n, data[n:]
			continue
		}
		n := copy(b.header[b.have:], data)
		b.have, data = b.have+n, data[n:]
		if b.have < frameHeaderSize {
			return
		}
		kind, flags := b.header[3], b.header[4]
		if !b.started && kind != frameSettings {
			b.notHTTP2 = true
			return
		}
		b.started, b.have = true, 0
		b.rest = int(b.header[0])<<16 | int(b.header[1])<<8 | int(b.header[2])
		if kind == frameHeaders || kind == framePush || kind == frameContinuation {
			b.open = flags&flagEndHeaders == 0
		}
	}
}

// atFrameEnd reports whether the bytes so far end with a whole frame, so that another one may be
// written.
func (b *boundary) atFrameEnd() bool {
	return b.started && !b.notHTTP2 && !b.open && b.have == 0 && b.rest == 0
}

// callerConn is the relay's connection with a caller. It is safe for concurrent use.
type callerConn struct {
	net.Conn

	mu          sync.Mutex
	frames      boundary
	asked, sent bool
}

// Write passes bytes of the runtime on, and GoAway after them if it is asked for.
func (c *callerConn) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, err := c.Conn.Write(p)
	c.frames.advance(p[:n])
	if err == nil && c.asked {
		err = c.send()
	}
	return n, err
}

// CloseWrite ends the direction to the caller.
func (c *callerConn) CloseWrite() error {
	if d, ok := c.Conn.(duplex); ok {
		return d.CloseWrite()
	}
	return c.Close()
}

// goAway sends GoAway at the next boundary, at once if this is one.
func (c *callerConn) goAway() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = true
	_ = c.send() // a connection that is closed needs none
}

func (c *callerConn) send() error {
	if c.sent || !c.frames.atFrameEnd() {
		return nil
	}
	c.sent = true
	_, err := c.Conn.Write(GoAway)
	return err
}
