package services

import (
	"net"
	"net/netip"
	"sync"
	"time"
)

// Bounds of the clients of a Server. A pod may ask as fast as it can, and with any source address.
const (
	// maxClient is how many queries of one address are answered a second; the others are dropped, and asked again.
	maxClient = 2000
	// maxLookups is how many addresses of no podctl pod are looked up a second. Each takes calls of netlink;
	// queries of the others are dropped.
	maxLookups = 256
	// maxConns bounds the TCP connections, and maxClientConns those of one address.
	maxConns       = 256
	maxClientConns = 32
	// maxClientForwarded bounds the queries of one address that wait for the node's resolvers. The others fail.
	maxClientForwarded = 64
	// writeTimeout bounds one answer to a TCP client that does not read.
	writeTimeout = 2 * time.Second
)

// clients decides which queries and connections are admitted. It is safe for concurrent use.
type clients struct {
	// isOfHost reports whether a client is this machine or on it. Others have no names from here.
	isOfHost func(netip.Addr) bool

	mu sync.Mutex
	// second is the one, in Unix time, that queries and lookups count. queries has maxClient for an address that
	// is not of the host.
	second  int64
	queries map[netip.Addr]int
	lookups int
	// conns counts the open TCP connections, forwarded the queries that wait for the node's resolvers.
	conns, forwarded map[netip.Addr]int
}

func newClients(isOfHost func(netip.Addr) bool) *clients {
	return &clients{isOfHost: isOfHost, queries: map[netip.Addr]int{}, conns: map[netip.Addr]int{}, forwarded: map[netip.Addr]int{}}
}

// admit reports whether a client may send one more query in this second. z has the addresses of the pods.
func (c *clients) admit(from net.Addr, z *Zone) bool {
	addr := addrOf(from)
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now().Unix(); now != c.second {
		c.second, c.lookups = now, 0
		clear(c.queries)
	}
	// From DNSAddress the machine itself asks; the kernel drops packets of others with an address of its own.
	_, known := c.queries[addr]
	if !known && addr.String() != DNSAddress && !z.pods[addr.String()] {
		if c.lookups >= maxLookups {
			return false
		}
		c.lookups++
		c.mu.Unlock()
		ofHost := c.isOfHost(addr)
		c.mu.Lock()
		if !ofHost {
			c.queries[addr] = maxClient
		}
	}
	c.queries[addr]++
	return c.queries[addr] <= maxClient
}

// addrOf returns the address of a client, the zero Addr, which is not of the host, if it has none.
func addrOf(client net.Addr) netip.Addr {
	from, err := netip.ParseAddrPort(client.String())
	if err != nil {
		return netip.Addr{}
	}
	return from.Addr().Unmap()
}

// hold counts one more of a client in counts, and reports whether it may have it; release takes it off.
func (c *clients) hold(counts map[netip.Addr]int, client netip.Addr, most int) (release func(), ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if counts[client] >= most {
		return nil, false
	}
	counts[client]++
	return sync.OnceFunc(func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		if counts[client]--; counts[client] == 0 {
			delete(counts, client)
		}
	}), true
}

// clientListener closes the connections of clients that may not ask, or have too many.
type clientListener struct {
	net.Listener
	s *Server
}

// Accept implements net.Listener.
func (l clientListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.s.clients.admit(conn.RemoteAddr(), l.s.zone.Load()) {
			if closed, ok := l.s.clients.hold(l.s.clients.conns, addrOf(conn.RemoteAddr()), maxClientConns); ok {
				return &clientConn{conn, closed}, nil
			}
		}
		_ = conn.Close() // it was not used
	}
}

// clientConn is the connection of a client, which is closed when it does not read an answer.
type clientConn struct {
	net.Conn
	closed func()
}

// Write implements net.Conn.
func (c *clientConn) Write(b []byte) (int, error) {
	err := c.SetWriteDeadline(time.Now().Add(writeTimeout))
	if err != nil {
		return 0, err
	}
	n, err := c.Conn.Write(b)
	if err != nil {
		_ = c.Close() // the error of the write is the cause
	}
	return n, err
}

// Close implements net.Conn.
func (c *clientConn) Close() error {
	c.closed()
	return c.Conn.Close()
}
