package stream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/go-logr/logr"
	"github.com/moby/term"
	constants "k8s.io/apimachinery/pkg/util/remotecommand"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/client-go/util/exec"
	"k8s.io/streaming/pkg/httpstream"
)

// Session are the streams of an exec or attach. A nil stream is not connected.
type Session struct {
	// URL is the runtime's.
	URL            string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// TTY: the process has a terminal; Stderr is not used.
	TTY bool
	// Sizes are those of the terminal; may be nil.
	Sizes *Sizes
}

// ExitError is a command that exited with another code than 0.
type ExitError struct{ Code int }

func (e *ExitError) Error() string { return fmt.Sprintf("the command exited with code %d", e.Code) }

// NotConnectedError: podctl could not connect to the streaming server of the runtime; the command
// was not run.
type NotConnectedError struct{ error }

func (e *NotConnectedError) Unwrap() error { return e.error }

// Run connects the streams and waits for the end of the command or container, or
// for the end of ctx, whose cause it then returns. The errors are an *ExitError,
// a *NotConnectedError, ErrLost, an error of Stdout or Stderr, or the runtime's.
//
// A Read of Stdin that blocks when the command ends goes on in the background.
func Run(ctx context.Context, s Session) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	u := &upgrader{ctx: ctx, url: s.URL}
	// Only protocol v4 reports exit codes; all runtimes have had it since 2016.
	executor, err := remotecommand.NewSPDYExecutorForProtocols(u, spdy.NewUpgraderForStreaming(u), http.MethodPost, &url.URL{}, constants.StreamProtocolV4Name)
	if err != nil {
		return err
	}
	o := remotecommand.StreamOptions{Tty: s.TTY}
	if s.Stdin != nil {
		o.Stdin = s.Stdin
	}
	if s.Stdout != nil {
		o.Stdout = &output{s.Stdout, ctx, cancel}
	}
	if s.Stderr != nil && !s.TTY {
		o.Stderr = &output{s.Stderr, ctx, cancel}
	}
	if s.Sizes != nil {
		o.TerminalSizeQueue = s.Sizes
	}
	// What the library logs is returned as an error, too, or happens to a
	// connection that has served its purpose.
	err = executor.StreamWithContext(logr.NewContext(ctx, logr.Discard()), o)
	return u.result(ctx, err)
}

// upgrader makes the connection of an executor.
type upgrader struct {
	ctx  context.Context
	url  string
	up   *upgradedConn
	conn *connection
	// failed is why there is no connection.
	failed error
}

// RoundTrip connects to the session's URL.
func (u *upgrader) RoundTrip(req *http.Request) (*http.Response, error) {
	u.up, u.failed = dial(u.ctx, u.url, constants.StreamProtocolV4Name)
	if u.failed != nil {
		return nil, u.failed
	}
	header := http.Header{}
	header.Set(httpstream.HeaderProtocolVersion, constants.StreamProtocolV4Name)
	return &http.Response{StatusCode: http.StatusSwitchingProtocols, Header: header, Body: http.NoBody, Request: req}, nil
}

// NewConnection returns the connection that RoundTrip has made.
func (u *upgrader) NewConnection(*http.Response) (httpstream.Connection, error) {
	u.conn, u.failed = newConnection(u.ctx, u.up)
	if u.failed != nil {
		return nil, u.failed
	}
	return u.conn, nil
}

// result returns the error of a session, as its caller sees it.
func (u *upgrader) result(ctx context.Context, err error) error {
	var exit exec.CodeExitError
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case u.failed != nil && u.up == nil:
		return &NotConnectedError{u.failed}
	case u.failed != nil:
		return u.failed
	case u.conn == nil:
		return err
	case errors.As(err, &exit):
		return &ExitError{exit.Code}
	case u.conn.reportedBytes() == 0:
		return ErrLost
	}
	return err
}

// output is a local stream: an error ends the session, which would otherwise
// read on from a command without an end.
// Nothing is written once the session has ended.
type output struct {
	io.Writer
	ctx  context.Context
	fail context.CancelCauseFunc
}

func (o *output) Write(p []byte) (int, error) {
	if err := o.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := o.Writer.Write(p)
	if err != nil {
		o.fail(err)
	}
	return n, err
}

// DefaultDetachKeys are those of docker and podman.
const DefaultDetachKeys = "ctrl-p,ctrl-q"

// ErrDetached: the user typed the detach keys.
var ErrDetached = errors.New("detached")

// ParseKeys parses a sequence of keys: characters and ctrl-CHARACTER, separated
// by commas. "" is none.
func ParseKeys(text string) ([]byte, error) {
	if text == "" {
		return nil, nil
	}
	keys, err := term.ToBytes(text)
	if err != nil {
		return nil, fmt.Errorf("detach keys %q are not characters or ctrl-CHARACTER, separated by commas", text)
	}
	return keys, nil
}

// Detachable returns a reader of what is typed and a context that ends with the
// cause ErrDetached at the keys. At the keys, Read blocks until done is called,
// which has to happen after the session: the end of the input would end a shell.
func Detachable(ctx context.Context, in io.Reader, keys []byte) (_ context.Context, _ io.Reader, done func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	d := &detachReader{in: term.NewEscapeProxy(in, keys), detach: cancel, done: make(chan struct{})}
	return ctx, d, func() {
		cancel(nil)
		close(d.done)
	}
}

type detachReader struct {
	in     io.Reader
	detach context.CancelCauseFunc
	done   chan struct{}
}

func (d *detachReader) Read(p []byte) (int, error) {
	n, err := d.in.Read(p)
	if _, typed := errors.AsType[term.EscapeError](err); typed {
		d.detach(ErrDetached)
		<-d.done
		return 0, io.EOF
	}
	return n, err
}
