//go:build !linux

package restart

import (
	"errors"
	"syscall"
)

// send implements Signal where there are no containers.
func (*Restarter) send(int, string, syscall.Signal) error { return errors.ErrUnsupported }
