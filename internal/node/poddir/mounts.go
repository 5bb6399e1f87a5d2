package poddir

import (
	"path/filepath"

	"github.com/moby/sys/mountinfo"
)

// Mounts returns the mount points at and below each directory that has any, by one
// look at the mount table; none where that cannot be read.
func Mounts() map[string][]string {
	below := map[string][]string{}
	mounted, _ := mountinfo.GetMounts(nil)
	for _, m := range mounted {
		for dir := m.Mountpoint; dir != "/" && dir != "."; dir = filepath.Dir(dir) {
			below[dir] = append(below[dir], m.Mountpoint)
		}
	}
	return below
}
