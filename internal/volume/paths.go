package volume

import (
	"path/filepath"
	"slices"

	v1 "k8s.io/api/core/v1"
)

// Paths tells where the volumes that the pod's containers mount will be, with
// pod directories in podsDir: what Mount returns, but nothing is made and
// nothing is checked. Volumes of a kind that is not supported are left out.
func Paths(podsDir string, p *v1.Pod) map[string]string {
	paths := map[string]string{}
	for i := range p.Spec.Volumes {
		v := &p.Spec.Volumes[i]
		if k := slices.IndexFunc(kinds, func(k kind) bool { return k.owns(v) }); k >= 0 && isMounted(p, v.Name) {
			paths[v.Name] = kinds[k].path(podsDir, p, v)
		}
	}
	return paths
}

// path is where a volume of the kind lies.
func (k kind) path(podsDir string, p *v1.Pod, v *v1.Volume) string {
	if k.dir == "" {
		return k.elsewhere(v)
	}
	return filepath.Join(podsDir, string(p.UID), volumesName, k.dir, v.Name)
}
