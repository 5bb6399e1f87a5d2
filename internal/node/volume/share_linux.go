package volume

import (
	"errors"
	"os"
	"path/filepath"
	"strings"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

// share makes the pod's directory a shared mount of its own, if a container
// wants mounts to propagate and the directory does not lie on a shared mount
// anyway. It must come before anything is mounted in the directory.
func (m *Manager) share(p *v1.Pod) error {
	if !propagates(p) {
		return nil
	}
	dir, err := filepath.EvalSymlinks(m.Dir(p.UID))
	if err != nil {
		return err
	}
	shared, err := isShared(dir)
	if err != nil || shared {
		return err
	}
	if err := unix.Mount(dir, dir, "", unix.MS_BIND, ""); err != nil {
		return &os.PathError{Op: "bind", Path: dir, Err: err}
	}
	if err := unix.Mount("", dir, "", unix.MS_SHARED|unix.MS_REC, ""); err != nil {
		return errors.Join(&os.PathError{Op: "share", Path: dir, Err: err}, unmount(dir))
	}
	return nil
}

// unshare takes back what share did, in this process or one before. It comes
// after all else that is mounted in the directory is gone.
func (m *Manager) unshare(uid types.UID) error {
	dir, err := filepath.EvalSymlinks(m.Dir(uid))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	points, err := mountsIn(dir)
	if err != nil || len(points) == 0 || points[0] != dir {
		return err
	}
	if len(points) > 1 {
		return mountedError(dir, points[1:])
	}
	return unmount(dir)
}

// propagates reports whether a container of the pod wants mounts of the host, or
// its own on the host.
func propagates(p *v1.Pod) bool {
	for c := range pod.AllContainers(p) {
		for _, m := range c.VolumeMounts {
			if m.MountPropagation != nil && *m.MountPropagation != v1.MountPropagationNone {
				return true
			}
		}
	}
	return false
}

// isShared reports whether the mount that the path lies on is shared.
func isShared(path string) (bool, error) {
	infos, err := mountinfo.GetMounts(mountinfo.ParentsFilter(path))
	if err != nil {
		return false, err
	}
	var holder *mountinfo.Info
	for _, info := range infos {
		if holder == nil || len(info.Mountpoint) >= len(holder.Mountpoint) { // of two, the later is on top
			holder = info
		}
	}
	return holder != nil && strings.Contains(holder.Optional, "shared:"), nil
}
