//go:build !linux

package describe

import "errors"

// readKernelLog is only known on Linux.
func readKernelLog() ([]string, error) { return nil, errors.ErrUnsupported }
