package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/remotecommand"
	"k8s.io/streaming/pkg/httpstream"

	"github.com/podctl/podctl/internal/cri/stream"
	"github.com/podctl/podctl/internal/sys/hint"
)

// maxReport bounds the report of a command's result, in bytes.
const maxReport = 64 << 10

// ErrLost: the connection ended before the node reported the result.
var ErrLost = errors.New("the connection to the node was lost")

// result returns the error that a report stands for.
func result(report []byte) error {
	if len(report) == 0 {
		return ErrLost
	}
	var status metav1.Status
	if err := json.Unmarshal(report, &status); err != nil {
		return errors.New("the report of the command's result is not JSON")
	}
	switch {
	case status.Status == metav1.StatusSuccess:
		return nil
	case status.Reason != remotecommand.NonZeroExitCodeReason:
		return &RefusedError{Code: int(status.Code), Message: status.Message}
	case status.Details == nil:
		return errors.New("the report of the command's result has no exit code")
	}
	for _, cause := range status.Details.Causes {
		if cause.Type == remotecommand.ExitCodeCauseType {
			code, err := strconv.ParseUint(cause.Message, 10, 8)
			if err != nil || code == 0 {
				return fmt.Errorf("the report of the command's result has the exit code %q", cause.Message)
			}
			return &stream.ExitError{Code: int(code)}
		}
	}
	return errors.New("the report of the command's result has no exit code")
}

// RefusedError: the API server or the node refused to run the command.
type RefusedError struct {
	// Code is that of HTTP, 0 if it is not known.
	Code    int
	Message string
}

func (e *RefusedError) Error() string { return e.Message }

// Hint names the permission that is missing.
func (e *RefusedError) Hint() string {
	if e.Code == http.StatusForbidden || e.Code == http.StatusUnauthorized {
		return "the plugin needs the verbs create and get of pods/exec in the namespace of the inspector pods"
	}
	return ""
}

// asRefused turns the API server's own error into a *RefusedError.
func asRefused(err error) error {
	var upgrade *httpstream.UpgradeFailureError
	if errors.As(err, &upgrade) && upgrade.Cause != nil {
		err = upgrade.Cause
	}
	if status, ok := errors.AsType[*apierrors.StatusError](err); ok {
		return &RefusedError{Code: int(status.ErrStatus.Code), Message: status.ErrStatus.Message}
	}
	if upgrade != nil {
		return hint.With(err, "kubectl podctl needs an API server of Kubernetes 1.30 or later, and WebSocket in every proxy before it")
	}
	return err
}

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
	_, err := withTimeout(ctx, func() (struct{}, error) { return struct{}{}, asRefused(c.overWebSocket(ctx, c.execURL(e), e)) })
	return err
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
