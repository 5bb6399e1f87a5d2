package volume

import (
	"path/filepath"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
)

// Paths returns the paths at which Mount will make the volumes of the pod's containers,
// with pod directories in podsDir and these objects. Nothing is created or checked.
// Volumes of unsupported kinds are omitted.
func Paths(podsDir string, p *v1.Pod, objects *pod.Objects) map[string]string {
	paths := map[string]string{}
	for i := range p.Spec.Volumes {
		v := &p.Spec.Volumes[i]
		if k := kindOf(v); k != nil && isMounted(p, v.Name) {
			paths[v.Name] = k.path(podsDir, filepath.Join(podsDir, string(p.UID)), p, v, objects)
		}
	}
	return paths
}

// path returns where a volume of the kind lies, with pod directories in pods, of which
// dir is the pod's.
func (k *kind) path(pods, dir string, p *v1.Pod, v *v1.Volume, objects *pod.Objects) string {
	if k.pathOutside != nil {
		return k.pathOutside(pods, p, v, objects)
	}
	return k.inPod(dir, v)
}

// inPod returns the volume's place in the pod's directory.
func (k *kind) inPod(dir string, v *v1.Volume) string {
	return filepath.Join(dir, volumesName, k.dir, v.Name)
}

// escapeGlob makes a pattern that matches the path alone.
func escapeGlob(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}
