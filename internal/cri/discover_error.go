package cri

import (
	"errors"
	"fmt"
)

// attempt is one place that was looked at, and why it did not do.
type attempt struct {
	where string
	err   error
}

// notFound returns the error for no runtime at all, with a line for each place. It is an
// ErrUnavailable, and what the attempts failed of.
func notFound(attempts []attempt) error {
	text, kinds := "none of these:", []error{ErrUnavailable}
	for _, a := range attempts {
		kinds = append(kinds, a.err)
		text += fmt.Sprintf("\n  %s: %v", a.where, a.err)
	}
	e := &Error{Method: "Discover", verb: "find", Object: "a CRI runtime", text: text, kinds: kinds}
	e.hint = "start a runtime (systemctl start containerd), or name its endpoint: --runtime-endpoint unix:///path/to/socket"
	if errors.Is(e, ErrPermission) {
		e.hint = "only root can open a runtime's socket: run podctl as root, for instance with sudo"
	}
	return e
}

// reason is an error in the runtime's words alone, for a list that says
// where.
type reason struct{ err *Error }

func (r reason) Error() string { return r.err.text }
func (r reason) Unwrap() error { return r.err }
