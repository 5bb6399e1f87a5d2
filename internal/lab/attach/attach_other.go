//go:build !linux

package attach

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
)

var errLinux = errors.New("it needs Linux")

// Runtime is the process that serves a socket, and who is connected to it.
type Runtime struct {
	Path    string
	PID     int
	Comm    string
	Callers []Caller
}

// Caller is a process with connections to a runtime.
type Caller struct {
	PID         int
	Comm        string
	Connections int
}

// Examine fails: only Linux exchanges two files in one step.
func Examine(string) (*Runtime, error) { return nil, errLinux }

// Close does nothing.
func (*Runtime) Close() error { return nil }

// Create fails.
func (*Runtime) Create() (*Swap, *net.UnixListener, error) { return nil, nil, errLinux }

// Redirect fails.
func (*Runtime) Redirect(context.Context) (asked, busy int, err error) { return 0, 0, errLinux }

// Watch fails.
func (*Runtime) Watch(context.Context, *Swap) error { return errLinux }

// Exited fails.
func (*Runtime) Exited() error { return errLinux }

// Swap is two sockets of one directory.
type Swap struct{ Path, Parked string }

// OpenSwap fails.
func OpenSwap(string, string) (*Swap, error) { return nil, errLinux }

// Dial fails.
func (*Swap) Dial(context.Context) (net.Conn, error) { return nil, errLinux }

// Place fails.
func (*Swap) Place() error { return errLinux }

// Undo fails.
func (*Swap) Undo() error { return errLinux }

// Manual returns no command.
func (*Swap) Manual() string { return "" }

// Watchdog is the process that undoes a swap.
type Watchdog struct{}

// StartWatchdog fails.
func StartWatchdog(*exec.Cmd) (*Watchdog, error) { return nil, errLinux }

// PID returns 0.
func (*Watchdog) PID() int { return 0 }

// Lost returns nil.
func (*Watchdog) Lost() <-chan struct{} { return nil }

// Dismiss fails.
func (*Watchdog) Dismiss() error { return errLinux }

// RunWatchdog fails.
func RunWatchdog(*Swap, *os.File, io.Writer) error { return errLinux }
