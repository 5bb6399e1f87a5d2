package volume

import (
	"path/filepath"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// Paths tells where the volumes that the pod's containers mount will be, with
// pod directories in podsDir: what Mount returns, but nothing is made and
// nothing is checked. Volumes of a kind that is not supported are left out.
func Paths(podsDir string, p *v1.Pod) map[string]string {
	paths := map[string]string{}
	for i := range p.Spec.Volumes {
		v := &p.Spec.Volumes[i]
		if k := kindOf(v); k != nil && isMounted(p, v.Name) {
			paths[v.Name] = k.path(podsDir, filepath.Join(podsDir, string(p.UID)), p, v)
		}
	}
	return paths
}

// path returns where a volume of the kind lies, with pod directories in pods, of which
// dir is the pod's.
func (k *kind) path(pods, dir string, p *v1.Pod, v *v1.Volume) string {
	if k.elsewhere != nil {
		return k.elsewhere(pods, p, v)
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
