package cluster

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"sync"

	"github.com/go-logr/logr"
	v1 "k8s.io/api/core/v1"
	constants "k8s.io/apimachinery/pkg/util/remotecommand"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/client-go/util/exec"
	"k8s.io/streaming/pkg/httpstream"
	streamspdy "k8s.io/streaming/pkg/httpstream/spdy"

	"github.com/podctl/podctl/internal/cri/stream"
)

// overSPDY runs a command for a server, or through a proxy, that does not speak
// WebSocket. connected: the server has accepted the connection.
func (c *Client) overSPDY(ctx context.Context, address *url.URL, e Exec) (connected bool, err error) {
	ctx, fail := context.WithCancelCause(logr.NewContext(ctx, logr.Discard())) // what it logs is returned, too
	defer fail(nil)
	transport, watched, err := c.spdyTransport()
	if err != nil {
		return false, err
	}
	// Of the protocols, only v4 reports exit codes.
	executor, err := remotecommand.NewSPDYExecutorForProtocols(noRedirects{transport}, spdy.NewUpgraderForStreaming(watched), http.MethodPost, address, constants.StreamProtocolV4Name)
	if err != nil {
		return false, err
	}
	o := remotecommand.StreamOptions{Tty: e.TTY, Stdin: e.Stdin}
	if e.Stdout != nil {
		o.Stdout = &failingWriter{e.Stdout, fail}
	}
	if e.Stderr != nil && !e.TTY {
		o.Stderr = &failingWriter{e.Stderr, fail}
	}
	if e.Sizes != nil {
		o.TerminalSizeQueue = e.Sizes
	}
	err = executor.StreamWithContext(ctx, o)
	var exit exec.CodeExitError
	switch {
	case ctx.Err() != nil:
		err = context.Cause(ctx)
	case errors.As(err, &exit):
		err = &stream.ExitError{Code: exit.Code}
	case watched.connected && !watched.reported():
		err = ErrLost
	}
	return watched.connected, err
}

// spdyTransport returns a transport that upgrades a connection, with the credentials of the
// kubeconfig.
func (c *Client) spdyTransport() (http.RoundTripper, *errorStreams, error) {
	tls, err := rest.TLSConfigFor(c.config)
	if err != nil {
		return nil, nil, err
	}
	proxy := c.config.Proxy
	if proxy == nil {
		proxy = http.ProxyFromEnvironment
	}
	upgrader, err := streamspdy.NewRoundTripperWithConfig(streamspdy.RoundTripperConfig{TLS: tls, Proxier: proxy, PingPeriod: pingPeriod})
	if err != nil {
		return nil, nil, err
	}
	transport, err := rest.HTTPWrappersForConfig(c.config, upgrader)
	return transport, &errorStreams{UpgradeRoundTripper: upgrader}, err
}

// noRedirects refuses answers that lead elsewhere.
type noRedirects struct{ http.RoundTripper }

func (t noRedirects) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := t.RoundTripper.RoundTrip(req)
	if err == nil && resp.StatusCode >= http.StatusMultipleChoices && resp.StatusCode < http.StatusBadRequest {
		_ = resp.Body.Close()
		return nil, fmt.Errorf("the server answered with a redirect, %s", resp.Status)
	}
	return resp, err
}

// failingWriter is a local stream whose error ends the command.
type failingWriter struct {
	io.Writer
	fail context.CancelCauseFunc
}

func (f *failingWriter) Write(p []byte) (int, error) {
	n, err := f.Writer.Write(p)
	if err != nil {
		f.fail(err)
	}
	return n, err
}

// errorStreams is an upgrader that sees the report of the result, and bounds it.
type errorStreams struct {
	httpstream.UpgradeRoundTripper
	connected bool

	mu   sync.Mutex
	read int
}

func (r *errorStreams) NewConnection(resp *http.Response) (httpstream.Connection, error) {
	conn, err := r.UpgradeRoundTripper.NewConnection(resp)
	if err != nil {
		return nil, err
	}
	r.connected = true
	return &reportConnection{conn, r}, nil
}

// reported reports whether the server has said anything about the result.
func (r *errorStreams) reported() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.read > 0
}

type reportConnection struct {
	httpstream.Connection
	reports *errorStreams
}

func (c *reportConnection) CreateStream(headers http.Header) (httpstream.Stream, error) {
	s, err := c.Connection.CreateStream(headers)
	if err != nil || headers.Get(v1.StreamType) != v1.StreamTypeError {
		return s, err
	}
	return &reportStream{s, c.reports}, nil
}

type reportStream struct {
	httpstream.Stream
	reports *errorStreams
}

// Read bounds the report.
func (s *reportStream) Read(p []byte) (int, error) {
	s.reports.mu.Lock()
	left := maxReport - s.reports.read
	s.reports.mu.Unlock()
	if left <= 0 {
		return 0, io.EOF
	}
	n, err := s.Stream.Read(p[:min(len(p), left)])
	s.reports.mu.Lock()
	s.reports.read += n
	s.reports.mu.Unlock()
	return n, err
}
