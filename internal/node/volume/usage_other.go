//go:build !linux

package volume

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
)

// usage returns the size of the files of a tree, whatever the limit. Pods only run on linux.
func usage(ctx context.Context, dir string, _ int64) (used int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if info, err := d.Info(); err == nil && !d.IsDir() {
			used += info.Size()
		}
		return ctx.Err()
	})
	return used, err
}

// filesUsage returns the size of the files in a directory, whatever the limit.
func filesUsage(_ context.Context, dir string, _ int64) (used int64, err error) {
	files, err := os.ReadDir(dir)
	for _, f := range files {
		if info, err := f.Info(); err == nil && !f.IsDir() {
			used += diskSize(info)
		}
	}
	return used, err
}

func diskSize(info os.FileInfo) int64 { return info.Size() }
