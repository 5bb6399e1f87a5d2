//go:build !linux

package volume

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
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

// giveTo gives everything in dir to the group; a nil group changes nothing.
// Pods only run on linux.
func giveTo(_ context.Context, _ string, group *int64, _ access) error {
	if group == nil {
		return nil
	}
	return errors.ErrUnsupported
}

func groupOf(os.FileInfo) (gid int64, known bool) { return 0, false }

// Pods only run on linux.

func (m *Manager) share(*v1.Pod) error { return nil }

func (m *Manager) unshare(types.UID) error { return nil }

// Pods only run on linux: elsewhere nothing is mounted.

func mountOn(path, fsType string, options []string) error {
	return mountError(fsType, path, options, errors.New("not on "+runtime.GOOS))
}

func mountedAt(string) (string, error) { return "", nil }

func pageSizeAt(string) (int64, error) { return 0, errors.New("not on " + runtime.GOOS) }

func unmountVolumes(string, string) error { return nil }

// Pods only run on linux.

func makeBeneath(string, string) error { return nil }

func bindBeneath(string, string, string) error { return errors.ErrUnsupported }

func (m *Manager) unmountSubPaths(types.UID) error { return nil }

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
