package volume

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	v1 "k8s.io/api/core/v1"
)

// emptyDirMode is open to whoever the containers run as
// (pkg/volume/emptydir/empty_dir.go).
const emptyDirMode = os.FileMode(0o777)

// emptyDir is a directory that lives as long as its pod. A volume that names
// no source is one too.
var emptyDir = kind{
	dir:   "kubernetes.io~empty-dir",
	owns:  func(v *v1.Volume) bool { return v.EmptyDir != nil || v.VolumeSource == (v1.VolumeSource{}) },
	setUp: setUpEmptyDir,
}

// setUpEmptyDir makes the directory aside and renames it into place: what is
// there is complete, and the containers' to change.
func setUpEmptyDir(r request) (string, error) {
	if e := r.volume.EmptyDir; e != nil && e.Medium != v1.StorageMediumDefault {
		return "", fmt.Errorf("emptyDir of medium %q is not supported", e.Medium)
	}
	info, err := os.Lstat(r.path)
	switch {
	case err == nil && info.IsDir():
		return r.path, nil
	case err == nil:
		return "", fmt.Errorf("%s is not a directory", r.path)
	case !errors.Is(err, os.ErrNotExist):
		return "", err
	}
	aside := filepath.Join(filepath.Dir(r.path), "."+filepath.Base(r.path))
	if err := os.Mkdir(aside, emptyDirMode); err != nil && !errors.Is(err, os.ErrExist) {
		return "", err
	}
	mode := emptyDirMode // again, for the umask
	if sc := r.pod.Spec.SecurityContext; sc != nil && sc.FSGroup != nil {
		if err := os.Lchown(aside, -1, int(*sc.FSGroup)); err != nil {
			return "", err
		}
		mode |= os.ModeSetgid
	}
	if err := os.Chmod(aside, mode); err != nil {
		return "", err
	}
	return r.path, os.Rename(aside, r.path)
}
