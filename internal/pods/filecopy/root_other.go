//go:build !linux

package filecopy

import (
	"context"
	"errors"
)

// errLinux: there are no containers on this system.
var errLinux = errors.New("files are copied on Linux only")

// Root is where paths are resolved.
type Root struct{}

// Host is this host's root.
func Host() *Root { return &Root{} }

// OpenRoot fails.
func OpenRoot(int, string) (*Root, error) { return nil, errLinux }

// IDs returns those of the container's user namespace.
func (*Root) IDs() IDMap { return IDMap{} }

// Close closes the root.
func (*Root) Close() error { return nil }

// Open fails.
func (*Root) Open(context.Context, Place) (Source, error) { return nil, errLinux }

// Create fails.
func (*Root) Create(_ context.Context, to, _ Place) (Sink, Place, error) { return nil, to, errLinux }
