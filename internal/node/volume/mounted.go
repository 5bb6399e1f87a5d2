package volume

import (
	"strings"

	"github.com/podctl/podctl/internal/sys/hint"
)

// mountedError returns the error for a directory of a pod that is not removed, because
// something is mounted in it that podctl has not mounted: a container did, through a
// volume with mountPropagation Bidirectional, or a user of the host.
func mountedError(path string, mounts []string) error {
	return hint.Errorf("a container with mountPropagation Bidirectional left it mounted: umount "+strings.Join(mounts, " "),
		"%s: still mounted in it: %s", path, strings.Join(mounts, ", "))
}
