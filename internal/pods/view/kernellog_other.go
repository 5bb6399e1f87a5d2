//go:build !linux

package view

import (
	"errors"
)

// ReadKernelLog is only known on Linux.
func ReadKernelLog() (KernelLog, error) { return KernelLog{}, errors.ErrUnsupported }

// ReadKernelLogWhole is only known on Linux.
func ReadKernelLogWhole() (KernelLog, error) { return KernelLog{}, errors.ErrUnsupported }
