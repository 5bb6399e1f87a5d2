package volume

import (
	"fmt"
	"strings"
)

// MountedError is a directory of a pod that is not removed, because something
// is mounted in it that podctl has not mounted: a container did, through a
// volume with mountPropagation Bidirectional, or a user of the host.
type MountedError struct {
	Path   string
	Mounts []string
}

func (e *MountedError) Error() string {
	return fmt.Sprintf("%s: still mounted in it: %s", e.Path, strings.Join(e.Mounts, ", "))
}

// Hint is what to do about it.
func (e *MountedError) Hint() string {
	return "a container with mountPropagation Bidirectional left it mounted: umount " + strings.Join(e.Mounts, " ")
}
