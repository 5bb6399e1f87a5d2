package cri

import (
	"errors"
	"fmt"
	"strings"
)

// attempt is one place that was looked at, and why it did not do.
type attempt struct {
	where string
	err   error
}

// DiscoverError is that no runtime was found: everything that was tried.
type DiscoverError struct{ attempts []attempt }

var _ interface{ Hint() string } = (*DiscoverError)(nil)

// Error has a line for each place.
func (e *DiscoverError) Error() string {
	var b strings.Builder
	b.WriteString("find a CRI runtime: none of these:")
	for _, a := range e.attempts {
		fmt.Fprintf(&b, "\n  %s: %v", a.where, a.err)
	}
	return b.String()
}

// Unwrap: it is an ErrUnavailable, and whatever the attempts failed of.
func (e *DiscoverError) Unwrap() []error {
	errs := []error{ErrUnavailable}
	for _, a := range e.attempts {
		errs = append(errs, a.err)
	}
	return errs
}

// Hint is what to do about it.
func (e *DiscoverError) Hint() string {
	if errors.Is(e, ErrPermission) {
		return "only root can open a runtime's socket: run podctl as root, for instance with sudo"
	}
	return "start a runtime (systemctl start containerd), or name its endpoint: --runtime-endpoint unix:///path/to/socket"
}

// reason is an error in the runtime's words alone, for a list that says
// where.
type reason struct{ err *Error }

func (r reason) Error() string { return r.err.text }
func (r reason) Unwrap() error { return r.err }
