package volume

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
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

// setUpMemory mounts a tmpfs on a directory, unless there is one already. Its
// top directory belongs to the pod's fsGroup from the beginning.
func setUpMemory(_ context.Context, r request) error {
	if err := makeOpen(r.path); err != nil {
		return err
	}
	kind, err := mountedAt(r.path)
	switch {
	case err != nil:
		return err
	case kind == tmpfsType:
		return nil
	case kind != "":
		return fmt.Errorf("%s: a file system of type %s is mounted there", r.path, kind)
	}
	var options []string
	if size := memorySize(r.pod, r.volume, r.in.Memory); size > 0 {
		options = append(options, "size="+strconv.FormatInt(size, 10))
	}
	if group := fsGroup(r.pod); group != nil {
		options = append(options, "gid="+strconv.FormatInt(*group, 10), "mode=3777")
	}
	// Swap is for memory that may be written to disk.
	err = mountOn(r.path, tmpfsType, append(options, "noswap"))
	if errors.Is(err, errMountOption) { // Linux before 6.4
		err = mountOn(r.path, tmpfsType, options)
	}
	return err
}

// memorySize returns how many bytes a volume in memory may hold: its own limit if
// it is below the pod's, that if it is below the node's. 0 is no limit of
// podctl's (calculateEmptyDirMemorySize in pkg/volume/emptydir/empty_dir.go).
func memorySize(p *v1.Pod, v *v1.Volume, ofNode int64) int64 {
	size := ofNode
	lower := func(to int64) {
		if to > 0 && (to <= size || ofNode <= 0) {
			size = to
		}
	}
	lower(pod.MemoryLimit(p))
	if v.EmptyDir != nil && v.EmptyDir.SizeLimit != nil {
		own := v.EmptyDir.SizeLimit.Value()
		if ofNode <= 0 && size > 0 {
			own = min(own, size)
		}
		lower(own)
	}
	return size
}

const (
	tmpfsType   = "tmpfs"
	hugeTLBType = "hugetlbfs"
)

// errMountOption is a mount with an option that the kernel does not know.
var errMountOption = errors.New("invalid mount option")

// mountError returns the error for a file system that could not be mounted.
func mountError(fsType, path string, options []string, err error) error {
	return fmt.Errorf("mount %s on %s with %q: %w", fsType, path, strings.Join(options, ","), err)
}
