package volume

import (
	"context"
	"os"
	"path/filepath"

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
		used, _ := usage(ctx, emptyDir.path(m.pods, m.Dir(p.UID), p, v, nil), most)
		if ctx.Err() == nil && used > most {
			return v.Name, *v.EmptyDir.SizeLimit, true
		}
	}
	return "", resource.Quantity{}, false
}

// EphemeralUsage returns how many bytes of the node's disk the pod's volumes and its
// /etc/hosts take, of the volumes those that count as ephemeral storage: emptyDirs on disk
// and ConfigMaps (IsLocalEphemeralVolume in pkg/volume/util/util.go). It stops once they are
// more than the limit, and ends with ctx; what cannot be read counts with the part that was
// read.
func (m *Manager) EphemeralUsage(ctx context.Context, p *v1.Pod, limit int64) int64 {
	dir := m.Dir(p.UID)
	var used int64
	if info, err := os.Lstat(filepath.Join(dir, "etc-hosts")); err == nil {
		used = diskSize(info)
	}
	for i := range p.Spec.Volumes {
		v := &p.Spec.Volumes[i]
		if k := kindOf(v); k != nil && isEphemeral(v) && isMounted(p, v.Name) && used <= limit {
			more, _ := usage(ctx, k.path(m.pods, dir, p, v, nil), limit-used)
			used += more
		}
	}
	return used
}

// isEphemeral reports whether the volume counts as ephemeral storage.
func isEphemeral(v *v1.Volume) bool {
	return v.ConfigMap != nil || emptyDir.owns(v) && (v.EmptyDir == nil || v.EmptyDir.Medium == v1.StorageMediumDefault)
}

// FilesUsage returns how many bytes of its file system the files in a directory take, not
// those in directories below it (fileMetricsByDir in pkg/kubelet/stats/host_stats_provider.go).
// It stops once they are more than the limit, and ends with ctx.
func (m *Manager) FilesUsage(ctx context.Context, dir string, limit int64) int64 {
	used, _ := filesUsage(ctx, dir, limit)
	return used
}

// hasLimit reports whether the volume is one for OverLimit to look at.
func hasLimit(v *v1.Volume) bool {
	return v.EmptyDir != nil && v.EmptyDir.SizeLimit != nil && v.EmptyDir.SizeLimit.Sign() > 0
}
