package volume

import (
	"errors"
	"io/fs"
	"os"
	"path"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// OverLimit looks for an emptyDir that holds more than its sizeLimit, as the
// kubelet does (emptyDirLimitEviction in pkg/kubelet/eviction/eviction_manager.go).
// It reads all its directories, which may take long.
func (m *Manager) OverLimit(p *v1.Pod) (volume string, limit resource.Quantity, over bool) {
	for i := range p.Spec.Volumes {
		v := &p.Spec.Volumes[i]
		if !hasLimit(v) || !isMounted(p, v.Name) {
			continue
		}
		used, err := usage(emptyDir.path(m.pods, p, v))
		if err == nil && used > v.EmptyDir.SizeLimit.Value() {
			return v.Name, *v.EmptyDir.SizeLimit, true
		}
	}
	return "", resource.Quantity{}, false
}

// hasLimit tells whether the volume is one for OverLimit to look at.
func hasLimit(v *v1.Volume) bool {
	return v.EmptyDir != nil && v.EmptyDir.SizeLimit != nil && v.EmptyDir.SizeLimit.Sign() > 0
}

// usage is how many bytes of its file system a tree takes, other mounts in it
// left out. What comes and goes meanwhile may be counted or not (DiskUsage in
// pkg/volume/util/fs/fs.go).
func usage(dir string) (int64, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return 0, err
	}
	defer root.Close()
	u := &du{root: root, linked: map[uint64]bool{}}
	top, err := root.Lstat(".")
	if err != nil {
		return 0, err
	}
	u.device = blocksOf(top).device
	err = u.add(".")
	return u.bytes, err
}

type du struct {
	root   *os.Root
	device uint64
	linked map[uint64]bool
	bytes  int64
}

func (u *du) add(name string) error {
	info, err := u.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	b := blocksOf(info)
	if b.device != u.device || u.linked[b.inode] {
		return nil
	}
	if b.links > 1 && !info.IsDir() {
		u.linked[b.inode] = true
	}
	u.bytes += b.bytes
	if !info.IsDir() {
		return nil
	}
	names, err := namesIn(u.root, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, n := range names {
		if err := u.add(path.Join(name, n)); err != nil {
			return err
		}
	}
	return err
}

// blocks is what a file takes, and how to know it again.
type blocks struct {
	device, inode, links uint64
	bytes                int64
}
