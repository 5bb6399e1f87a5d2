package volume

import (
	"context"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// OverLimit returns an emptyDir that holds more than its sizeLimit, as the kubelet does
// (emptyDirLimitEviction in pkg/kubelet/eviction/eviction_manager.go). It measures the
// volumes until one is over its limit, and ends with ctx. A volume that cannot be read
// completely counts with the part that was read.
func (m *Manager) OverLimit(ctx context.Context, p *v1.Pod) (volume string, limit resource.Quantity, over bool) {
	for i := range p.Spec.Volumes {
		v := &p.Spec.Volumes[i]
		if !hasLimit(v) || !isMounted(p, v.Name) {
			continue
		}
		most := v.EmptyDir.SizeLimit.Value()
		used, _ := usage(ctx, emptyDir.path(m.pods, m.Dir(p.UID), p, v), most)
		if ctx.Err() == nil && used > most {
			return v.Name, *v.EmptyDir.SizeLimit, true
		}
	}
	return "", resource.Quantity{}, false
}

// hasLimit reports whether the volume is one for OverLimit to look at.
func hasLimit(v *v1.Volume) bool {
	return v.EmptyDir != nil && v.EmptyDir.SizeLimit != nil && v.EmptyDir.SizeLimit.Sign() > 0
}
