package stream

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"k8s.io/streaming/pkg/httpstream"

	"github.com/podctl/podctl/internal/sys/hint"
)

const (
	portForwardProtocol = "portforward.k8s.io"
	// maxForwarded bounds the connections of a Forwarder that are open at one
	// time; further ones wait in the listener.
	maxForwarded = 512
)

// Forwarder forwards local connections to ports of a pod.
type Forwarder struct {
	// URL asks the runtime for a connection to a port. It is called for each
	// connection, from many goroutines.
	URL func(ctx context.Context, port uint16) (string, error)
	// Failed is told of connections that failed, from many goroutines.
	Failed func(l *Listener, err error)
}

// Listener is a local address that leads to a port of the pod.
type Listener struct {
	net.Listener
	// Remote returns the port of the pod for a new connection.
	Remote func(context.Context) (uint16, error)
}

// Serve accepts connections until ctx ends, which closes the listeners and all
// connections. It returns the cause.
func (f *Forwarder) Serve(ctx context.Context, listeners []*Listener) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(ctx, func() {
		for _, l := range listeners {
			_ = l.Close()
		}
	})
	defer stop()
	places := make(chan struct{}, maxForwarded)
	var serving sync.WaitGroup
	for _, l := range listeners {
		serving.Go(func() { cancel(f.accept(ctx, l, places, &serving)) })
	}
	<-ctx.Done()
	for _, l := range listeners {
		_ = l.Close()
	}
	serving.Wait()
	return context.Cause(ctx)
}

// accept serves one listener until it fails or ctx ends.
func (f *Forwarder) accept(ctx context.Context, l *Listener, places chan struct{}, serving *sync.WaitGroup) error {
	for {
		select {
		case places <- struct{}{}:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		conn, err := l.Accept()
		if err != nil {
			return fmt.Errorf("accept at %s: %w", l.Addr(), err)
		}
		serving.Go(func() {
			defer func() { <-places }()
			if err := f.serve(ctx, l, conn); err != nil && ctx.Err() == nil {
				f.Failed(l, err)
			}
		})
	}
}

// serve forwards one connection to its end.
func (f *Forwarder) serve(ctx context.Context, l *Listener, local net.Conn) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = local.Close() })()
	defer local.Close()
	remote, err := l.Remote(ctx)
	if err != nil {
		return err
	}
	url, err := f.URL(ctx, remote)
	if err != nil {
		return err
	}
	up, err := dial(ctx, url, portForwardProtocol)
	if err != nil {
		return err
	}
	conn, err := newConnection(ctx, up)
	if err != nil {
		return err
	}
	defer conn.Close()
	data, report, err := openPort(conn, remote)
	if err != nil {
		if report == nil {
			return err
		}
		// A runtime that cannot connect may reset the data before it has accepted it.
		return cmp.Or(readReport(report, remote), err)
	}
	return exchange(local, data, report, remote)
}

// openPort opens the two streams of a connection to a port.
func openPort(conn *connection, port uint16) (data, report httpstream.Stream, err error) {
	headers := http.Header{}
	headers.Set("port", strconv.Itoa(int(port)))
	headers.Set("requestID", "0")
	headers.Set(streamType, streamTypeError)
	if report, err = conn.CreateStream(headers); err != nil {
		return nil, nil, err
	}
	_ = report.Close() // only the runtime writes to it
	headers.Set(streamType, streamTypeData)
	data, err = conn.CreateStream(headers)
	return data, report, err
}

// exchange copies in both directions. It ends when the remote side has nothing
// more to send, or the local side is gone. The error is what the runtime reports.
func exchange(local net.Conn, data, report httpstream.Stream, port uint16) error {
	go func() {
		_, err := io.Copy(data, local)
		if err == nil {
			_ = data.Close() // the client has closed its half
		} else {
			_ = data.Reset()
		}
	}()
	_, copied := io.Copy(local, data)
	if half, ok := local.(interface{ CloseWrite() error }); ok && copied == nil {
		_ = half.CloseWrite() // the client may be gone
	}
	if copied != nil {
		return nil // the client has closed its connection
	}
	return readReport(report, port)
}

// readReport returns what the runtime reports of a connection that it has closed, nil
// if it was served.
func readReport(report httpstream.Stream, port uint16) error {
	late := time.AfterFunc(reportTimeout, func() { _ = report.Reset() })
	defer late.Stop()
	text, err := io.ReadAll(io.LimitReader(report, maxReport))
	if err == nil && len(text) > 0 {
		err = fmt.Errorf("port %d: %s", port, strings.TrimSpace(string(text)))
	}
	return err
}

// maxReport bounds what is read of a report, in bytes.
const maxReport = 64 << 10

// reportTimeout is how long the result of a connection is waited for that the
// remote side has closed.
const reportTimeout = time.Second

// Listen opens the port at each address; 0 is any free port, the same at all
// addresses. "localhost" stands for 127.0.0.1 and, where the host has it, ::1.
func Listen(ctx context.Context, addresses []string, port uint16) ([]net.Listener, error) {
	var open []net.Listener
	fail := func(err error) ([]net.Listener, error) {
		for _, l := range open {
			_ = l.Close()
		}
		return nil, err
	}
	for _, address := range addresses {
		hosts := []string{address}
		if address == "localhost" {
			hosts = []string{"127.0.0.1", "::1"}
		}
		for i, host := range hosts {
			l, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(int(port))))
			switch {
			case err != nil && i > 0:
				continue // a host without IPv6
			case err != nil:
				return fail(err)
			}
			open = append(open, l)
			if tcp, ok := l.Addr().(*net.TCPAddr); ok && port == 0 {
				port = uint16(tcp.Port)
			}
		}
	}
	if len(open) == 0 {
		return nil, errors.New("no address to listen at")
	}
	return open, nil
}

// Port is what a user asks to forward: [LOCAL:]REMOTE.
type Port struct {
	// Local is 0 for the number of the remote port, unless Any.
	Local uint16
	// Any free local port.
	Any bool
	// Remote is 0 if Name is the name of a port of a container.
	Remote uint16
	Name   string
}

// ParsePort parses [LOCAL:]REMOTE, where REMOTE is a number or the name of a port;
// LOCAL is REMOTE by default, and any free port if it is empty or 0. /tcp may
// follow.
func ParsePort(text string) (Port, error) {
	wrong := func(format string, args ...any) (Port, error) {
		return Port{}, hint.Errorf("8080, 8080:80, :80, or the name of a port: 8080:http", "port %q: "+format, append([]any{text}, args...)...)
	}
	spec, protocol, _ := strings.Cut(text, "/")
	if protocol = strings.ToLower(protocol); strings.Contains(text, "/") && protocol != "tcp" {
		if protocol == "udp" || protocol == "sctp" {
			return Port{}, fmt.Errorf("port %q: %s cannot be forwarded: the CRI forwards TCP only", text, strings.ToUpper(protocol))
		}
		return wrong("unknown protocol %q", protocol)
	}
	local, remote, two := strings.Cut(spec, ":")
	if !two {
		local, remote = "", local
	}
	var p Port
	number, err := strconv.ParseUint(remote, 10, 16)
	switch {
	case remote == "" || strings.Contains(remote, ":"):
		return wrong("not [LOCAL:]REMOTE")
	case err == nil && number == 0:
		return wrong("the remote port is 0")
	case err == nil:
		p.Remote = uint16(number)
	case strings.Trim(remote, "0123456789") == "":
		return wrong("%s is larger than 65535", remote)
	case strings.HasPrefix(remote, "-"):
		return wrong("not [LOCAL:]REMOTE")
	default:
		p.Name = remote
	}
	switch {
	case !two:
		return p, nil
	case local == "":
		p.Any = true
		return p, nil
	}
	number, err = strconv.ParseUint(local, 10, 16)
	if err != nil {
		return wrong("the local port %q is not a number from 0 to 65535", local)
	}
	p.Local, p.Any = uint16(number), number == 0
	return p, nil
}
