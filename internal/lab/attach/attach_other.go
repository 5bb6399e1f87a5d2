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

// Frontend is a socket that has the place of a runtime's.
type Frontend struct{ net.Listener }

// Open fails: only Linux exchanges two files in one step.
func Open(string, func(*Swap) (*exec.Cmd, error), func(string, ...any)) (*Frontend, error) {
	return nil, errLinux
}

// Path returns no path.
func (*Frontend) Path() string { return "" }

// Dial fails.
func (*Frontend) Dial(context.Context) (net.Conn, error) { return nil, errLinux }

// Begin fails.
func (*Frontend) Begin(context.Context) error { return errLinux }

// End fails.
func (*Frontend) End() error { return errLinux }

// Failed returns nil.
func (*Frontend) Failed() <-chan error { return nil }

// Swap is two sockets of one directory.
type Swap struct{ Path, Parked string }

// OpenSwap fails.
func OpenSwap(string, string) (*Swap, error) { return nil, errLinux }

// RunWatchdog fails.
func RunWatchdog(*Swap, *os.File, io.Writer) error { return errLinux }
