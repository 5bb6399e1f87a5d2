package volume

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// mountOn mounts a new file system.
func mountOn(path, fsType string, options []string) error {
	err := unix.Mount(fsType, path, fsType, 0, strings.Join(options, ","))
	if err == nil {
		return nil
	}
	if errors.Is(err, unix.EINVAL) {
		err = fmt.Errorf("%w: %w", errMountOption, err)
	}
	return mountError(fsType, path, options, err)
}

// mountedAt returns the type of the file system that is mounted right on a path, ""
// if none is.
func mountedAt(path string) (string, error) {
	mounted, err := mountinfo.Mounted(path)
	if err != nil || !mounted {
		return "", err
	}
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return "", &os.PathError{Op: "statfs", Path: path, Err: err}
	}
	switch int64(st.Type) {
	case unix.TMPFS_MAGIC:
		return tmpfsType, nil
	case unix.HUGETLBFS_MAGIC:
		return hugeTLBType, nil
	}
	return fmt.Sprintf("%#x", st.Type), nil
}

// pageSizeAt returns the size of the pages of a mounted hugetlbfs, in bytes.
func pageSizeAt(path string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return 0, &os.PathError{Op: "statfs", Path: path, Err: err}
	}
	return st.Bsize, nil
}

// unmountVolumes takes away what Mount has mounted below a pod's volumes, in
// this process or another. If anything else is mounted there, nothing is taken
// away, and the error names it.
func unmountVolumes(base, uid string) error {
	base, err := filepath.EvalSymlinks(base)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	top := filepath.Join(base, uid, volumesName)
	infos, err := mountinfo.GetMounts(mountinfo.PrefixFilter(top))
	if err != nil {
		return err
	}
	var own, foreign []string
	for _, info := range infos {
		if isOwn(top, info) {
			own = append(own, info.Mountpoint)
		} else {
			foreign = append(foreign, info.Mountpoint)
		}
	}
	if len(foreign) > 0 {
		slices.Sort(foreign)
		return mountedError(top, foreign)
	}
	for _, point := range own {
		if err := unmount(point); err != nil {
			return err
		}
	}
	return nil
}

// isOwn reports whether a mount below the pod's volumes is one that Mount makes:
// on a volume itself, of a kind that is mounted, and whole.
func isOwn(top string, info *mountinfo.Info) bool {
	dir, volume := filepath.Split(strings.TrimPrefix(info.Mountpoint, top+"/"))
	if volume == "" || info.Root != "/" {
		return false
	}
	return slices.Contains(mountsOf[strings.TrimSuffix(dir, "/")], info.FSType)
}

// mountsOf are the file systems that are mounted for volumes of each kind.
var mountsOf = map[string][]string{
	emptyDirName: {tmpfsType, hugeTLBType},
	secretName:   {tmpfsType},
	downwardName: {tmpfsType},
	projectName:  {tmpfsType},
}
