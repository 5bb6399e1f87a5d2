package volume

import (
	"fmt"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// subPathsName is where the parts of volumes are mounted, in the pod's
// directory: VOLUME/CONTAINER/INDEX.
const subPathsName = "volume-subpaths"

// SubPathError is a part of a volume that could not be made or mounted. Its
// text is the kubelet's, and says nothing of the host: it becomes the
// container's waiting message. Unwrap returns what happened, for a log.
type SubPathError struct {
	// Making: the directory is not there and cannot be made.
	Making            bool
	Volume, Container string
	err               error
}

func (e *SubPathError) Error() string {
	verb := "prepare subPath"
	if e.Making {
		verb = "create subPath directory"
	}
	return fmt.Sprintf("failed to %s for volumeMount %q of container %q", verb, e.Volume, e.Container)
}

func (e *SubPathError) Unwrap() error { return e.err }

// BindSubPath mounts the part of a volume at path, relative to the volume's
// host path, at target, which lies in the pod's directory as subPathsName
// says. A directory that is missing is made, with the volume's mode. It is
// called before each start of a container, and mounts again what has become
// another file since. An error is a *SubPathError.
//
// Containers of the pod may change the volume meanwhile. Symlinks that stay in
// the volume are followed; nothing outside of it is ever mounted, or made
// (pkg/volume/util/subpath/subpath_linux.go).
func (m *Manager) BindSubPath(uid types.UID, volume, path, target string) error {
	names, err := m.subPathNames(uid, target)
	if err != nil {
		return fmt.Errorf("mount subPath: %w", err)
	}
	fail := func(making bool, err error) error {
		return &SubPathError{Making: making, Volume: names[0], Container: names[1], err: err}
	}
	base, err := filepath.EvalSymlinks(volume)
	if err != nil {
		return fail(false, err)
	}
	dir, err := filepath.EvalSymlinks(m.Dir(uid))
	if err != nil {
		return fail(false, err)
	}
	target = filepath.Join(append([]string{dir, subPathsName}, names...)...)
	if err := makeBeneath(base, path); err != nil {
		return fail(true, err)
	}
	if err := bindBeneath(base, path, target); err != nil {
		return fail(false, err)
	}
	return nil
}

// subPathNames returns the volume, container and index in target.
func (m *Manager) subPathNames(uid types.UID, target string) ([]string, error) {
	if err := checkName("uid", string(uid)); err != nil {
		return nil, err
	}
	rel, err := filepath.Rel(filepath.Join(m.Dir(uid), subPathsName), target)
	if err != nil {
		return nil, err
	}
	names := strings.Split(rel, "/")
	if len(names) != 3 || names[0] == ".." {
		return nil, fmt.Errorf("%s is not VOLUME/CONTAINER/INDEX in the pod's %s", target, subPathsName)
	}
	return names, nil
}

// elementsOf returns the names on the way from base to path, both clean and
// absolute; none if they are the same.
func elementsOf(base, path string) ([]string, error) {
	rel, err := filepath.Rel(base, path)
	switch {
	case err != nil:
		return nil, err
	case rel == ".":
		return nil, nil
	case rel == ".." || strings.HasPrefix(rel, "../"):
		return nil, fmt.Errorf("%s is not in %s", path, base)
	}
	return strings.Split(rel, "/"), nil
}
