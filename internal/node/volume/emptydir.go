package volume

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	v1 "k8s.io/api/core/v1"
)

const (
	// emptyDirMode is open to every user that containers run as
	// (pkg/volume/emptydir/empty_dir.go).
	emptyDirMode = os.FileMode(0o777)
	emptyDirName = "kubernetes.io~empty-dir"
)

// emptyDir is a directory that lives as long as its pod. A volume that names
// no source is one too.
var emptyDir = kind{
	dir:   emptyDirName,
	owns:  func(v *v1.Volume) bool { return v.EmptyDir != nil || v.VolumeSource == (v1.VolumeSource{}) },
	setUp: setUpEmptyDir,
}

func setUpEmptyDir(ctx context.Context, r request) error {
	medium := v1.StorageMediumDefault
	if e := r.volume.EmptyDir; e != nil {
		medium = e.Medium
	}
	switch {
	case medium == v1.StorageMediumDefault:
		return setUpDirectory(ctx, r)
	case medium == v1.StorageMediumMemory:
		return setUpMemory(ctx, r)
	case isHugePages(medium):
		return setUpHugePages(ctx, r)
	}
	return fmt.Errorf("unknown storage medium %q", medium)
}

// setUpDirectory makes the directory aside and renames it into place: what is
// there is complete, and the containers' to change.
func setUpDirectory(ctx context.Context, r request) error {
	info, err := os.Lstat(r.path)
	switch {
	case err == nil && info.IsDir():
		return nil
	case err == nil:
		return fmt.Errorf("%s is not a directory", r.path)
	case !errors.Is(err, os.ErrNotExist):
		return err
	}
	aside := filepath.Join(filepath.Dir(r.path), "."+filepath.Base(r.path))
	if err := makeOpen(aside); err != nil {
		return err
	}
	if err := giveTo(ctx, aside, fsGroup(r.pod), readWrite); err != nil {
		return err
	}
	return os.Rename(aside, r.path)
}

// makeOpen makes a directory that anyone may use, if it is not there.
func makeOpen(path string) error {
	err := os.Mkdir(path, emptyDirMode)
	if errors.Is(err, os.ErrExist) {
		info, err := os.Lstat(path)
		if err != nil || info.Mode().Perm() == emptyDirMode {
			return err
		}
	} else if err != nil {
		return err
	}
	return os.Chmod(path, emptyDirMode) // again, for the umask
}
