//go:build !linux

package volume

import (
	"context"
	"errors"
	"os"
	"path/filepath"
)

// remove removes the tree at the path of elements below base, without
// following symlinks out of it. Pods only run on linux: here are no mounts to
// look for.
func remove(_ context.Context, base string, elements ...string) error {
	root, err := os.OpenRoot(base)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(root.RemoveAll(filepath.Join(elements...)), root.Close())
}
