//go:build !linux

// Package inside is what podctl does in the containers of a conformance test.
package inside

import (
	"errors"
	"io"

	"github.com/podctl/podctl/internal/lab/conform"
)

// Run is for Linux.
func Run([]string, io.Writer, io.Writer) (int, error) { return 1, errors.ErrUnsupported }

// Facts is for Linux.
func Facts([]string) conform.Facts { return conform.Facts{} }
