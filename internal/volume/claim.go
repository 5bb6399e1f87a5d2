package volume

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
)

const claimName = "kubernetes.io~local-volume"

// claim is a directory that the pods of a claim share and that outlives them:
//
//	<root>/claims/NAMESPACE/NAME                          what containers see; never removed
//	<root>/pods/<uid>/volumes/kubernetes.io~local-volume/VOLUME
//	                                                      a symlink to it, as long as the pod uses it
//
// What local volumes are to the kubelet (pkg/volume/local/local.go), but
// without a mount.
var claim = kind{
	dir:  claimName,
	owns: func(v *v1.Volume) bool { return v.PersistentVolumeClaim != nil },
	elsewhere: func(pods string, p *v1.Pod, v *v1.Volume) string {
		return filepath.Join(filepath.Dir(pods), "claims", p.Namespace, v.PersistentVolumeClaim.ClaimName)
	},
	setUp: setUpClaim,
}

// claiming lets one pod at a time begin to use claims.
var claiming sync.Mutex

func setUpClaim(r request) error {
	source := r.volume.PersistentVolumeClaim
	if err := errors.Join(checkName("namespace", r.pod.Namespace), checkName("claim", source.ClaimName)); err != nil {
		return err
	}
	object := r.in.Objects.Claim(r.pod.Namespace, source.ClaimName)
	if object == nil {
		return fmt.Errorf("persistentvolumeclaim %q not found", source.ClaimName)
	}
	if mode := object.Spec.VolumeMode; mode != nil && *mode != v1.PersistentVolumeFilesystem {
		return fmt.Errorf("volume %s has volumeMode %s, but is specified in volumeMounts", r.volume.Name, *mode)
	}
	claiming.Lock()
	defer claiming.Unlock()
	if err := makeClaim(r.path); err != nil {
		return err
	}
	if to, err := os.Readlink(r.inPod); err == nil && to == r.path {
		return nil
	}
	others, err := usersOf(r.pods, r.path, string(r.pod.UID))
	if err != nil {
		return err
	}
	if len(others) > 0 && slices.Contains(object.Spec.AccessModes, v1.ReadWriteOncePod) {
		return errors.New("volume uses the ReadWriteOncePod access mode and is already in use by another pod")
	}
	// The first pod says whom the directory belongs to.
	if len(others) == 0 && !source.ReadOnly {
		if err := giveClaim(r.path, r.pod); err != nil {
			return err
		}
	}
	if err := os.Remove(r.inPod); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Symlink(r.path, r.inPod)
}

// makeClaim makes the claim's directory: open to whoever the containers run
// as, but not to others of the host.
func makeClaim(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return err
	}
	info, err := os.Lstat(path)
	switch {
	case err == nil && !info.IsDir():
		return fmt.Errorf("%s is not a directory", path)
	case err == nil || !errors.Is(err, fs.ErrNotExist):
		return err
	}
	aside := filepath.Join(filepath.Dir(path), "."+filepath.Base(path))
	if err := makeOpen(aside); err != nil {
		return err
	}
	return os.Rename(aside, path)
}

func giveClaim(path string, p *v1.Pod) error {
	group := fsGroup(p)
	if group == nil {
		return nil
	}
	if policy := p.Spec.SecurityContext.FSGroupChangePolicy; policy != nil && *policy == v1.FSGroupChangeOnRootMismatch {
		info, err := os.Lstat(path)
		if err != nil {
			return err
		}
		if belongsTo(info, *group, readWrite) {
			return nil
		}
	}
	return giveTo(path, group, readWrite)
}

// usersOf are the pods but one that use a claim's directory.
func usersOf(pods, path, but string) ([]string, error) {
	links, err := filepath.Glob(filepath.Join(escapeGlob(pods), "*", volumesName, claimName, "*"))
	if err != nil {
		return nil, err
	}
	var uids []string
	for _, link := range links {
		rest, err := filepath.Rel(pods, link)
		if err != nil {
			return nil, err
		}
		uid := firstOf(rest)
		if to, err := os.Readlink(link); err == nil && to == path && uid != but {
			uids = append(uids, uid)
		}
	}
	return uids, nil
}
