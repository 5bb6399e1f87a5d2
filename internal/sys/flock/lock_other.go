//go:build !unix

package flock

import (
	"context"
	"errors"
)

// Lock is not supported: pods only run on linux.
func Lock(context.Context, string) (unlock func(), err error) { return nil, errors.ErrUnsupported }

// LockDir is not supported: pods only run on linux.
func LockDir(context.Context, string) (unlock func(), err error) { return nil, errors.ErrUnsupported }
