package cri

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// What a call failed of. Each also is the standard library's error of that
// meaning where there is one, so that a package that may not import this one
// can tell with errors.Is.
var (
	// ErrNotFound: the runtime holds no such container, sandbox or image. It
	// is an fs.ErrNotExist.
	ErrNotFound = kind("not found", fs.ErrNotExist)
	// ErrUnavailable: nothing answers at the socket, the connection broke, or
	// the runtime says that it is not ready yet.
	ErrUnavailable = kind("runtime unavailable", nil)
	// ErrUnsupported: the runtime does not implement the call. It is an
	// errors.ErrUnsupported.
	ErrUnsupported = kind("not supported by the runtime", errors.ErrUnsupported)
	// ErrDeadline: no answer in time, or the runtime itself ran out of time (an
	// exec that took longer than its timeout). It is a
	// context.DeadlineExceeded. What was asked may still happen.
	ErrDeadline = kind("deadline exceeded", context.DeadlineExceeded)
	// ErrPermission: the socket, or the runtime, refuses this user. It is an
	// fs.ErrPermission; where the socket refused, also ErrUnavailable.
	ErrPermission = kind("permission denied", fs.ErrPermission)
	// ErrNameReserved: a sandbox or container of that name and attempt exists
	// or is being made: a leftover of a crash or of a call that timed out. The
	// next attempt number is free. It is an fs.ErrExist.
	ErrNameReserved = kind("name is reserved", fs.ErrExist)
	// ErrHung: a server accepts connections at the socket but does not answer, at least not a
	// call about the whole runtime, such as a list. The error is also ErrDeadline.
	ErrHung = kind("runtime does not answer", context.DeadlineExceeded)
	// ErrTooLarge: the answer, or the request, is larger than what the runtime or
	// this client transfers.
	ErrTooLarge = kind("message too large", nil)
	// ErrNotCRI: something answers at the socket that is not a CRI v1 runtime.
	ErrNotCRI = kind("not a CRI v1 runtime", nil)
)

type kindError struct {
	text string
	is   error
}

func kind(text string, is error) error { return &kindError{text, is} }

func (k *kindError) Error() string { return k.text }
func (k *kindError) Unwrap() error { return k.is }

// Error is a call that failed: which, on what, and the runtime's own text.
type Error struct {
	// Method is the CRI's name of the call, "Connect" for Connect.
	Method string
	// Object is what it was about: the short id or name, "" where the call is
	// about the whole runtime.
	Object string

	verb   string
	text   string
	hint   string
	kinds  []error
	status *status.Status // nil where gRPC did not say it
}

var _ interface{ Hint() string } = (*Error)(nil)

// Error is "verb object: the runtime's text".
func (e *Error) Error() string {
	return strings.TrimSuffix(e.verb+" "+e.Object, " ") + ": " + e.text
}

// Unwrap returns what the error is: of Err…, and context.Canceled.
func (e *Error) Unwrap() []error { return e.kinds }

// Hint is what to do about it, "" if there is nothing to say.
func (e *Error) Hint() string { return e.hint }

// RuntimeMessage is the runtime's own text, without the verb and the object:
// what the kubelet puts into a container's waiting message.
func (e *Error) RuntimeMessage() string { return e.text }

// GRPCStatus is the error as gRPC gave it, for those who pass a runtime's answer on. Where podctl
// found the error, it is Unknown.
func (e *Error) GRPCStatus() *status.Status {
	if e.status == nil {
		return status.New(codes.Unknown, e.text)
	}
	return status.New(e.status.Code(), e.text)
}

// answerError makes the error of a call whose answer made no sense.
func answerError(method, object, format string, args ...any) *Error {
	return &Error{Method: method, Object: object, verb: calls[method].verb, text: fmt.Sprintf(format, args...)}
}
