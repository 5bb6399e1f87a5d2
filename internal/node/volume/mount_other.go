//go:build !linux

package volume

import (
	"errors"
	"runtime"
)

// Pods only run on linux: elsewhere nothing is mounted.

func mountOn(path, fsType string, options []string) error {
	return mountError(fsType, path, options, errors.New("not on "+runtime.GOOS))
}

func mountedAt(string) (string, error) { return "", nil }

func pageSizeAt(string) (int64, error) { return 0, errors.New("not on " + runtime.GOOS) }

func unmountVolumes(string, string) error { return nil }
