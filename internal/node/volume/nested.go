package volume

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
)

// makeMountPoints makes the directories in a volume on which containers mount
// other volumes: in one that is read-only to them the runtime cannot
// (pkg/volume/util/nested_volumes.go).
func makeMountPoints(dir string, p *v1.Pod, volume string) error {
	for c := range pod.AllContainers(p) {
		for _, point := range mountPoints(c, volume) {
			if !filepath.IsLocal(point) {
				return fmt.Errorf("invalid container mount point %v", point)
			}
			if err := os.MkdirAll(filepath.Join(dir, point), 0o755); err != nil {
				return fmt.Errorf("unable to create nested volume mountpoints: %w", err)
			}
		}
	}
	return nil
}

// mountPoints returns where the container mounts something in the volume, relative
// to it; not what is mounted in those in turn.
func mountPoints(c *v1.Container, volume string) []string {
	var all, found []string
	for _, m := range c.VolumeMounts {
		all = append(all, filepath.Clean(m.MountPath)+"/")
	}
	slices.Sort(all)
	for _, m := range c.VolumeMounts {
		if m.Name != volume {
			continue
		}
		within := filepath.Clean(m.MountPath) + "/"
		var outer []string
		for _, point := range all {
			nested := strings.HasPrefix(point, within) && point != within
			if !nested || slices.ContainsFunc(outer, func(o string) bool { return strings.HasPrefix(point, o) }) {
				continue
			}
			outer = append(outer, point)
			found = append(found, strings.TrimSuffix(strings.TrimPrefix(point, within), "/"))
		}
	}
	return found
}
