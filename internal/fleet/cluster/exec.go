package cluster

import (
	"context"
	"errors"
	"io"
	"net/url"
	"strconv"

	"k8s.io/streaming/pkg/httpstream"

	"github.com/podctl/podctl/internal/cri/stream"
)

// Exec is a command in a container of a pod. A nil stream is not connected.
type Exec struct {
	Namespace, Pod, Container string
	Command                   []string
	Stdin                     io.Reader
	// Stdout and Stderr may be written to from several goroutines, and after Exec has
	// returned because its context has ended. An error of theirs ends the command.
	Stdout, Stderr io.Writer
	// TTY: the process has a terminal; Stderr is not used.
	TTY bool
	// Sizes are those of the terminal; may be nil.
	Sizes *stream.Sizes
}

// Exec runs a command and waits for its end, or for the end of ctx, whose cause it then
// returns. The errors are a *stream.ExitError, ErrLost, a *RefusedError, an error of Stdout
// or Stderr, or of the connection. The end of ctx closes the connection; whether the
// command then ends is the runtime's decision.
func (c *Client) Exec(ctx context.Context, e Exec) error {
	if !isName(e.Pod) {
		return invalidName("pod", e.Pod)
	}
	_, err := withTimeout(ctx, func() (struct{}, error) { return struct{}{}, c.exec(ctx, e) })
	return err
}

func (c *Client) exec(ctx context.Context, e Exec) error {
	address := c.execURL(e)
	err := c.overWebSocket(ctx, address, e)
	if !httpstream.IsUpgradeFailure(err) && !httpstream.IsHTTPSProxyError(err) {
		return asRefused(err)
	}
	// The server, or something between, does not speak it; or it needs the verb "get".
	connected, spdyErr := c.overSPDY(ctx, address, e)
	if refused, ok := errors.AsType[*RefusedError](asRefused(err)); ok && !connected {
		return refused
	}
	return spdyErr
}

// execURL returns the address of the subresource.
func (c *Client) execURL(e Exec) *url.URL {
	address := c.base.JoinPath("api/v1/namespaces", e.Namespace, "pods", e.Pod, "exec")
	address.RawQuery = url.Values{
		"container": {e.Container}, "command": e.Command,
		"stdin": {strconv.FormatBool(e.Stdin != nil)}, "stdout": {strconv.FormatBool(e.Stdout != nil)},
		"stderr": {strconv.FormatBool(e.Stderr != nil && !e.TTY)}, "tty": {strconv.FormatBool(e.TTY)},
	}.Encode()
	return address
}
