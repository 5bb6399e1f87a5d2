package shell

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/internal/cri"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/sys/hint"
)

// Exit codes of the program.
const (
	ExitOK          = 0
	ExitFailed      = 1   // the operation, or a pod, failed
	ExitUsage       = 2   // the command line is wrong
	ExitUnreachable = 3   // the runtime, the cluster or a node is unreachable
	ExitInterrupted = 130 // Ctrl-C
)

// ExitCodes are what --help and the generated pages say of each.
var ExitCodes = []cmdline.ExitCode{
	{Code: ExitOK, Meaning: "done"},
	{Code: ExitFailed, Meaning: "the operation or a pod failed, or a check found something"},
	{Code: ExitUsage, Meaning: "the command line is wrong"},
	{Code: ExitUnreachable, Meaning: "the runtime is unreachable or does not answer; as a plugin of kubectl, the cluster or a node"},
	{Code: ExitInterrupted, Meaning: "interrupted"},
}

// UsageError is a wrong command line.
type UsageError struct {
	Message string
	Advice  string
}

func (e *UsageError) Error() string { return e.Message }

// Hint is the advice, if there is any.
func (e *UsageError) Hint() string { return e.Advice }

// Usagef returns a UsageError without advice.
func Usagef(format string, args ...any) error {
	return &UsageError{Message: fmt.Sprintf(format, args...)}
}

// ErrInterrupted ends a command that the user interrupted. It only sets the
// exit code.
var ErrInterrupted = errors.New("interrupted")

// leaver is an error of a command that the user interrupted, which says more
// than that.
type leaver interface{ Interrupted() }

// unreachable is an error about a cluster or node that cannot be asked.
type unreachable interface{ Unreachable() }

type unreachableError struct{ error }

func (e unreachableError) Unwrap() error { return e.error }

func (unreachableError) Unreachable() {}

// Unreachable returns err as an error about a cluster or node that cannot be asked, for
// the exit code.
func Unreachable(err error) error { return unreachableError{err} }

// printedError is an error that must not be printed again.
type printedError struct{ err error }

func (e *printedError) Error() string { return e.err.Error() }
func (e *printedError) Unwrap() error { return e.err }

// Printed returns an error that ends a command whose failure is already printed
// as data.
func Printed(err error) error { return &printedError{err} }

// StatusError ends a command with the exit code of a program or container; see ExitCode. It prints
// nothing unless the code is one that no process can have.
type StatusError struct{ Code int }

func (e *StatusError) Error() string { return fmt.Sprintf("exit code %d", e.Code) }

// maxExitCode is the largest exit code that a process can have.
const maxExitCode = 255

// ExitCode returns podctl's exit code for that of a program or container, a 32-bit number in the
// CRI. It keeps the lowest 8 bits, as the kernel does, but never turns a failure into 0: if they
// are 0 it returns ExitFailed.
func (e StatusError) ExitCode() int {
	if code := e.Code & maxExitCode; code != 0 || e.Code == 0 {
		return code
	}
	return ExitFailed
}

// ExitCode maps an error to the process's exit code. It is the only place
// that does.
func ExitCode(err error) int {
	var usage *UsageError
	var program *StatusError
	var left leaver
	var endpoint *cri.EndpointError
	var notReached unreachable
	switch {
	case err == nil:
		return ExitOK
	case errors.As(err, &program):
		return program.ExitCode()
	case errors.Is(err, ErrInterrupted), errors.As(err, &left), errors.Is(err, context.Canceled):
		return ExitInterrupted
	case errors.As(err, &usage), errors.As(err, &endpoint):
		return ExitUsage
	case errors.Is(err, cri.ErrUnavailable), errors.Is(err, cri.ErrPermission), errors.Is(err, cri.ErrNotCRI), errors.Is(err, cri.ErrHung), errors.As(err, &notReached):
		return ExitUnreachable
	}
	return ExitFailed
}

// PrintError writes the error and its hints.
func PrintError(w io.Writer, err error) {
	var printed *printedError
	if program, ok := errors.AsType[*StatusError](err); ok {
		if program.ExitCode() != program.Code {
			fmt.Fprintf(w, "podctl: the exit code is %d, which no process can return: podctl exits with %d\n", program.Code, program.ExitCode())
		}
		return
	}
	if err == nil || errors.Is(err, ErrInterrupted) || errors.Is(err, syscall.EPIPE) || errors.As(err, &printed) {
		return
	}
	printWithHint(w, "podctl", err)
}

func printWithHint(w io.Writer, prefix string, err error) {
	fmt.Fprintf(w, "%s: %s\n", prefix, pod.ErrorText(strings.TrimRight(err.Error(), "\n")))
	if advice := hint.Of(err); advice != "" {
		fmt.Fprintf(w, "  hint: %s\n", strings.ReplaceAll(advice, "\n", "\n  hint: "))
	}
}
