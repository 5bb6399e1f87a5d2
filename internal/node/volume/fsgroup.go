package volume

import (
	"os"

	v1 "k8s.io/api/core/v1"
)

// access is what the pod's fsGroup may do in a volume.
type access uint8

const (
	readWrite access = iota
	readOnly
)

// mask returns the permissions that the group gets, beside those there are.
func (a access) mask(dir bool) os.FileMode {
	mask := os.FileMode(0o660)
	if a == readOnly {
		mask = 0o440
	}
	if dir {
		mask |= 0o110 | os.ModeSetgid
	}
	return mask
}

// fsGroup returns the pod's, nil for none.
func fsGroup(p *v1.Pod) *int64 {
	if p.Spec.SecurityContext == nil {
		return nil
	}
	return p.Spec.SecurityContext.FSGroup
}

// belongsTo reports whether the top directory is the group's already, with all
// that giveTo would give: with the policy OnRootMismatch that is taken for
// everything in it (requiresPermissionChange in pkg/volume/volume_linux.go).
func belongsTo(info os.FileInfo, group int64, a access) bool {
	gid, known := groupOf(info)
	want := a.mask(true)
	return info.IsDir() && known && gid == group && info.Mode()&want == want
}
