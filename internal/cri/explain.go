package cri

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// defaultPeekTimeout is how long an unknown server may take to show what it speaks.
const defaultPeekTimeout = time.Second

// explain makes, of the failure of the first call, an error that says what is
// wrong with this endpoint.
func explain(ctx context.Context, c *conn, err error) error {
	var e *Error
	if !errors.As(err, &e) {
		return err
	}
	e.Method, e.Object, e.verb = "Connect", c.endpoint, "connect to"
	switch {
	case errors.Is(err, ErrUnsupported):
		notV1(ctx, c, e)
	case c.dialer.last() == nil && (errors.Is(err, ErrUnavailable) || errors.Is(err, ErrDeadline)):
		switch answer, err := peek(c.dialer); {
		case errors.Is(err, ErrHung):
			hung(c, e)
		case answer != "":
			e.text, e.kinds = answer, []error{ErrNotCRI}
			e.hint = "it is not a CRI runtime's socket"
		case errors.Is(e, ErrDeadline):
			hung(c, e)
		}
	}
	if errors.Is(e, ErrNotCRI) && strings.HasSuffix(socketPath(c.endpoint), "docker.sock") {
		e.hint = "Docker does not speak CRI: install cri-dockerd and use unix:///run/cri-dockerd.sock, or use containerd"
	}
	return e
}

// hung explains a server that accepts connections and does not answer: a
// runtime that is stopped, or hangs.
func hung(c *conn, e *Error) {
	if !errors.Is(e, ErrDeadline) { // else the text has the time
		e.text = "the server accepts connections and does not answer"
	}
	e.kinds = []error{ErrHung, ErrDeadline}
	switch s := ServerOf(Endpoint{Runtime: c.endpoint}); {
	case s.stopped():
		e.hint = fmt.Sprintf("the server, %s (pid %d), is stopped by a signal: kill -CONT %d", s.Comm, s.PID, s.PID)
	case s.LogsGoroutines():
		e.hint = fmt.Sprintf("the server is %s (pid %d): kill -USR1 %d makes it log its goroutines", s.Comm, s.PID, s.PID)
	case s.PID != 0:
		e.hint = fmt.Sprintf("the server is %s (pid %d)", s.Comm, s.PID)
	}
}

// notV1 explains a gRPC server without the CRI v1 service: too old, or not
// serving CRI at all. The previous version's messages have the same encoding.
func notV1(ctx context.Context, c *conn, e *Error) {
	e.kinds = []error{ErrNotCRI, ErrUnsupported}
	var old runtimeapi.VersionResponse
	if err := c.Invoke(ctx, "/runtime.v1alpha2.RuntimeService/Version", &runtimeapi.VersionRequest{}, &old); err == nil {
		e.text = fmt.Sprintf("%s %s speaks CRI v1alpha2 only", old.RuntimeName, old.RuntimeVersion)
		e.hint = "podctl needs CRI v1: containerd 1.6, CRI-O 1.23 or newer"
		return
	}
	e.text = "the server does not implement CRI v1: " + e.text
	e.hint = `if this is containerd, take "cri" out of disabled_plugins in /etc/containerd/config.toml and restart it; its log says why if the plugin failed to load`
}

// peek connects again and looks at the first bytes: gRPC's own error does
// not distinguish an HTTP/1 server from a mute one. It returns "" if the server
// speaks HTTP/2, as a CRI runtime does, and ErrHung if it does not answer.
func peek(d *dialer) (string, error) {
	timeout := cmp.Or(d.peekTimeout, defaultPeekTimeout)
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	nc, err := d.dial(ctx)
	if err != nil {
		return "", nil
	}
	defer nc.Close()
	_ = nc.SetDeadline(time.Now().Add(timeout))
	// The opening of HTTP/2 and an empty SETTINGS frame, which a server must
	// answer with its own.
	if _, err := io.WriteString(nc, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00"); err != nil {
		return "the server closes the connection", nil
	}
	head := make([]byte, 9)
	n, err := io.ReadFull(nc, head)
	var late net.Error
	switch {
	case bytes.HasPrefix(head, []byte("HTTP/1")):
		return "an HTTP server listens there, not a CRI runtime", nil
	case err == nil && head[3] == 4: // a SETTINGS frame
		return "", nil
	case n > 0:
		return "the server does not speak gRPC", nil
	case errors.As(err, &late) && late.Timeout():
		return "", ErrHung
	}
	return "the server closes the connection", nil
}
