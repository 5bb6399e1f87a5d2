//go:build !linux

package inside

import (
	"errors"
	"io"
)

// Run is for Linux.
func Run([]string, io.Writer, io.Writer) (int, error) { return 1, errors.ErrUnsupported }

// Facts is for Linux.
func Facts([]string) map[string]any { return nil }
