package volume

import (
	"errors"
	"io/fs"
	"os"
	"path"

	v1 "k8s.io/api/core/v1"
)

// access is what the pod's fsGroup may do in a volume.
type access uint8

const (
	readWrite access = iota
	readOnly
)

// mask are the permissions that the group gets, beside those there are.
func (a access) mask(dir bool) os.FileMode {
	mask := os.FileMode(0o660)
	if a == readOnly {
		mask = 0o440
	}
	if dir {
		mask |= 0o110 | os.ModeSetgid
	}
	return mask
}

// fsGroup is the pod's, nil for none.
func fsGroup(p *v1.Pod) *int64 {
	if p.Spec.SecurityContext == nil {
		return nil
	}
	return p.Spec.SecurityContext.FSGroup
}

// giveTo gives everything in dir to the group, the directory itself at last;
// a nil group changes nothing. It does not follow symlinks and does not leave
// dir, whatever is exchanged in it meanwhile (pkg/volume/volume_linux.go).
func giveTo(dir string, group *int64, a access) error {
	if group == nil {
		return nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	return errors.Join(giveTree(root, ".", int(*group), a), root.Close())
}

func giveTree(root *os.Root, name string, group int, a access) error {
	info, err := root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // gone meanwhile
	}
	if err != nil {
		return err
	}
	if info.IsDir() {
		names, err := namesIn(root, name)
		if err != nil {
			return err
		}
		for _, n := range names {
			if err := giveTree(root, path.Join(name, n), group, a); err != nil {
				return err
			}
		}
	}
	if err := root.Lchown(name, -1, group); err != nil {
		return err
	}
	if info.Mode().Type() == fs.ModeSymlink {
		return nil
	}
	return root.Chmod(name, info.Mode()|a.mask(info.IsDir()))
}

func namesIn(root *os.Root, name string) ([]string, error) {
	dir, err := root.Open(name)
	if err != nil {
		return nil, err
	}
	names, err := dir.Readdirnames(-1)
	return names, errors.Join(err, dir.Close())
}

// belongsTo tells whether the top directory is the group's already, with all
// that giveTo would give: with the policy OnRootMismatch that is taken for
// everything in it (requiresPermissionChange in pkg/volume/volume_linux.go).
func belongsTo(info os.FileInfo, group int64, a access) bool {
	gid, known := groupOf(info)
	want := a.mask(true)
	return info.IsDir() && known && gid == group && info.Mode()&want == want
}
