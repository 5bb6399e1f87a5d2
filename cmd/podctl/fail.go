package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"

	"github.com/podctl/podctl/cmd/podctl/internal/cmdline"
	"github.com/podctl/podctl/cmd/podctl/internal/output"
	"github.com/podctl/podctl/internal/cri"
)

// Exit codes of the program.
const (
	exitOK          = 0
	exitFailed      = 1   // the operation, or a pod, failed
	exitUsage       = 2   // the command line is wrong
	exitUnreachable = 3   // the runtime is unreachable
	exitInterrupted = 130 // Ctrl-C
)

var exitCodes = []cmdline.ExitCode{
	{Code: exitOK, Meaning: "done"},
	{Code: exitFailed, Meaning: "the operation or a pod failed, or a check found something"},
	{Code: exitUsage, Meaning: "the command line is wrong"},
	{Code: exitUnreachable, Meaning: "the runtime is unreachable"},
	{Code: exitInterrupted, Meaning: "interrupted"},
}

// usageError is a wrong command line.
type usageError struct {
	message string
	hint    string
}

func (e *usageError) Error() string { return e.message }
func (e *usageError) Hint() string  { return e.hint }

func usagef(format string, args ...any) error {
	return &usageError{message: fmt.Sprintf(format, args...)}
}

// errInterrupted ends a command that the user interrupted. It only sets the
// exit code.
var errInterrupted = errors.New("interrupted")

// leaver is an error of a command that the user interrupted, which says more
// than that.
type leaver interface{ Interrupted() }

// printedError is an error that must not be printed again.
type printedError struct{ err error }

func (e *printedError) Error() string { return e.err.Error() }
func (e *printedError) Unwrap() error { return e.err }

// printed returns an error that ends a command whose failure is already printed
// as data.
func printed(err error) error { return &printedError{err} }

// exitCode maps an error to the process's exit code. It is the only place
// that does.
func exitCode(err error) int {
	var usage *usageError
	var left leaver
	var endpoint *cri.EndpointError
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errInterrupted), errors.As(err, &left), errors.Is(err, context.Canceled):
		return exitInterrupted
	case errors.As(err, &usage), errors.As(err, &endpoint):
		return exitUsage
	case errors.Is(err, cri.ErrUnavailable), errors.Is(err, cri.ErrPermission), errors.Is(err, cri.ErrNotCRI), errors.Is(err, cri.ErrHung):
		return exitUnreachable
	}
	return exitFailed
}

// printError writes the error and its hints.
func printError(w io.Writer, err error) {
	var printed *printedError
	if err == nil || errors.Is(err, errInterrupted) || errors.Is(err, syscall.EPIPE) || errors.As(err, &printed) {
		return
	}
	fmt.Fprintf(w, "podctl: %s\n", strings.TrimRight(err.Error(), "\n"))
	var hinted interface{ Hint() string }
	if errors.As(err, &hinted) && hinted.Hint() != "" {
		fmt.Fprintf(w, "  hint: %s\n", strings.ReplaceAll(hinted.Hint(), "\n", "\n  hint: "))
	}
}

// readFormat reads a value of --output.
func readFormat(value string) (output.Format, error) {
	f, err := output.ParseFormat(value)
	return f, asUsage(err)
}

// asUsage turns an error about a flag's value into a usageError.
func asUsage(err error) error {
	if wrong, ok := errors.AsType[*output.FormatError](err); ok {
		return &usageError{message: wrong.Message, hint: wrong.Advice}
	}
	return err
}
