//go:build !linux

package describe

import "errors"

// KernelLog is only known on Linux.
func KernelLog() ([]string, error) { return nil, errors.ErrUnsupported }
