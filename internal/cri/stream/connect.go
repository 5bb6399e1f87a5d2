package stream

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"

	"github.com/podctl/podctl/internal/sys/hint"
)

const (
	// connectTimeout bounds connecting, the handshake, and the answer to each
	// stream that is opened.
	connectTimeout = 10 * time.Second
	// maxResponse bounds the response to the handshake, in bytes.
	maxResponse = 64 << 10
	// pingPeriod keeps idle connections open.
	pingPeriod = 5 * time.Second
)

// ErrLost: the connection ended before the runtime reported the result.
var ErrLost = errors.New("the connection to the runtime was lost")

// upgradedConn is a connection after its handshake.
type upgradedConn struct {
	net.Conn
	// unread is what the handshake read beyond the response, then Conn.
	unread io.Reader
}

func (u *upgradedConn) Read(p []byte) (int, error) { return u.unread.Read(p) }

// dial connects to a URL of the runtime and upgrades to SPDY. The connection outlives
// ctx.
func dial(ctx context.Context, text, protocol string) (*upgradedConn, error) {
	u, err := checkURL(text, isLocalAddr)
	if err != nil {
		return nil, err
	}
	handshake, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	conn, err := dialURL(handshake, u)
	if err != nil {
		return nil, connectError(ctx, handshake, u, err)
	}
	stop := context.AfterFunc(handshake, func() { _ = conn.Close() })
	up, err := upgrade(conn, u, protocol)
	if !stop() && err == nil {
		err = handshake.Err()
	}
	if err != nil {
		_ = conn.Close()
		return nil, connectError(ctx, handshake, u, err)
	}
	return up, nil
}

func dialURL(ctx context.Context, u *url.URL) (net.Conn, error) {
	if u.Scheme == "https" {
		// The certificate is the runtime's own, as it makes it at its start; the
		// kubelet does not verify it either. checkURL keeps this on the host.
		d := tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}
		return d.DialContext(ctx, "tcp", u.Host)
	}
	return new(net.Dialer).DialContext(ctx, "tcp", u.Host)
}

// connectError names the address, and prefers the reason why a context ended.
func connectError(ctx, handshake context.Context, u *url.URL, err error) error {
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case handshake.Err() != nil:
		err = fmt.Errorf("no answer within %s", connectTimeout)
	}
	advice := ""
	if _, ok := errors.AsType[*net.OpError](err); ok {
		advice = "the runtime serves streams in its own network namespace: podctl must run in the same one"
	}
	return hint.Errorf(advice, "connect to the runtime's streaming server at %s: %w", u.Host, err)
}

// upgrade makes the handshake.
func upgrade(conn net.Conn, u *url.URL, protocol string) (*upgradedConn, error) {
	req, err := http.NewRequest(http.MethodPost, u.String(), http.NoBody)
	if err != nil {
		return nil, err
	}
	req.Header.Set(httpstream.HeaderConnection, httpstream.HeaderUpgrade)
	req.Header.Set(httpstream.HeaderUpgrade, spdy.HeaderSpdy31)
	req.Header.Set(httpstream.HeaderProtocolVersion, protocol)
	if err := req.Write(conn); err != nil {
		return nil, err
	}
	limited := &io.LimitedReader{R: conn, N: maxResponse}
	reader := bufio.NewReader(limited)
	resp, err := http.ReadResponse(reader, req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusSwitchingProtocols || !strings.EqualFold(resp.Header.Get(httpstream.HeaderUpgrade), spdy.HeaderSpdy31) {
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 1024)) // as far as it can be read
		return nil, fmt.Errorf("it answered %s: %s", resp.Status, strings.TrimSpace(string(text)))
	}
	if got := resp.Header.Get(httpstream.HeaderProtocolVersion); got != protocol {
		return nil, fmt.Errorf("it speaks %q, not %s", got, protocol)
	}
	limited.N = math.MaxInt64
	return &upgradedConn{Conn: conn, unread: reader}, nil
}

// connection is a SPDY connection whose error stream shows a connection that was
// lost.
//
// A runtime that cannot send its reply to a new stream, because the connection is
// closed, never closes that stream (SendReply in github.com/moby/spdystream), and
// containerd handles the exit of a container only when all streams of an attach are
// closed: nothing could stop that container any more. Close therefore waits for the
// reply.
type connection struct {
	httpstream.Connection
	raw    net.Conn
	report *errorStream // nil before it is open
	// opening has an item while a stream is being opened, and after Close.
	opening chan struct{}
	close   func() error
}

// reportedBytes returns how much the runtime has reported of the result, in bytes: 0 is a
// connection that was lost before.
func (c *connection) reportedBytes() int {
	if c.report == nil {
		return 0
	}
	return int(c.report.read.Load())
}

// newConnection returns a connection that the end of ctx closes.
func newConnection(ctx context.Context, up *upgradedConn) (*connection, error) {
	c, err := spdy.NewClientConnectionWithPings(up, pingPeriod)
	if err != nil {
		_ = up.Close()
		return nil, err
	}
	conn := &connection{Connection: c, raw: up.Conn, opening: make(chan struct{}, 1)}
	conn.close = sync.OnceValue(conn.closeNow)
	context.AfterFunc(ctx, func() { _ = conn.close() })
	return conn, nil
}

// CreateStream opens a stream. The library's own waits for half a minute on a
// connection that is closed.
func (c *connection) CreateStream(headers http.Header) (httpstream.Stream, error) {
	type result struct {
		stream httpstream.Stream
		err    error
	}
	headers = headers.Clone() // the caller changes them for the next stream
	select {
	case c.opening <- struct{}{}:
	case <-c.CloseChan():
		return nil, ErrLost
	}
	created := make(chan result, 1)
	go func() {
		s, err := c.Connection.CreateStream(headers)
		<-c.opening
		created <- result{s, err}
	}()
	late := time.NewTimer(connectTimeout)
	defer late.Stop()
	var r result
	select {
	case r = <-created:
	case <-c.CloseChan():
		select {
		case r = <-created: // what was received before is still processed
		case <-time.After(drainTimeout):
			return nil, ErrLost
		}
	case <-late.C:
		return nil, fmt.Errorf("the runtime did not accept a stream within %s", connectTimeout)
	}
	if r.err != nil || headers.Get(streamType) != streamTypeError {
		return r.stream, r.err
	}
	c.report = &errorStream{Stream: r.stream}
	return c.report, nil
}

// drainTimeout is how long what a closed connection has received is processed.
const drainTimeout = time.Second

// Close closes the connection. A server that does not answer, or does not read, delays
// it by less than a second.
func (c *connection) Close() error { return c.close() }

func (c *connection) closeNow() error {
	select {
	case c.opening <- struct{}{}: // for good: no further stream is opened
	case <-c.CloseChan():
	case <-time.After(replyTimeout):
	}
	late := time.AfterFunc(closeTimeout, func() { _ = c.raw.Close() })
	defer late.Stop()
	err := c.Connection.Close()
	_ = c.raw.Close()
	return err
}

const (
	// replyTimeout is how long the server has to accept a stream that is being opened
	// when the connection is closed.
	replyTimeout = 500 * time.Millisecond
	// closeTimeout is how long the server has to accept the end of the streams.
	closeTimeout = 200 * time.Millisecond
)

const (
	streamType      = "streamType"
	streamTypeError = "error"
	streamTypeData  = "data"
	// maxError bounds what the error stream may carry, in bytes.
	maxError = 64 << 10
)

// errorStream is a runtime's report of the result.
type errorStream struct {
	httpstream.Stream
	read atomic.Int64
}

// Read bounds the report.
func (s *errorStream) Read(p []byte) (int, error) {
	left := maxError - int(s.read.Load())
	if left <= 0 {
		return 0, io.EOF
	}
	n, err := s.Stream.Read(p[:min(len(p), left)])
	s.read.Add(int64(n))
	return n, err
}
