package volume

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/sys/flock"
)

const (
	claimName = "kubernetes.io~local-volume"
	// claimLocksName lies beside the directories of the namespaces, none of
	// which has such a name.
	claimLocksName = ".locks"
)

// claim is a directory that the pods of a claim share and that outlives them:
//
//	<root>/claims/NAMESPACE/NAME                          what containers see; never removed
//	<root>/claims/.locks/NAMESPACE/NAME                   held while a pod begins to use it
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

// claimWait bounds the wait for a claim that another pod begins to use: giving
// a large one to its group takes long.
const claimWait = 5 * time.Second

// lockClaim lets one pod at a time, of all podctl processes with this root,
// begin to use a claim.
func lockClaim(ctx context.Context, r request) (unlock func(), err error) {
	dir := filepath.Join(filepath.Dir(filepath.Dir(r.path)), claimLocksName, r.pod.Namespace)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	waiting, cancel := context.WithTimeout(ctx, claimWait)
	defer cancel()
	unlock, err = flock.Lock(waiting, filepath.Join(dir, filepath.Base(r.path)))
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return nil, fmt.Errorf("persistentvolumeclaim %q is being prepared for another pod", filepath.Base(r.path))
	}
	return unlock, err
}

func setUpClaim(ctx context.Context, r request) error {
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
	if used, err := usesClaim(r); used || err != nil {
		return err
	}
	unlock, err := lockClaim(ctx, r)
	if err != nil {
		return err
	}
	defer unlock()
	if err := makeClaim(r.path); err != nil {
		return err
	}
	others, err := usersOf(r.pods, r.path, filepath.Base(r.dir))
	if err != nil {
		return err
	}
	if len(others) > 0 && slices.Contains(object.Spec.AccessModes, v1.ReadWriteOncePod) {
		return errors.New("volume uses the ReadWriteOncePod access mode and is already in use by another pod")
	}
	// The first pod decides the owner of the directory.
	if len(others) == 0 && !source.ReadOnly {
		if err := giveClaim(ctx, r.path, r.pod); err != nil {
			return err
		}
	}
	if err := os.Remove(r.inPod); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Symlink(r.path, r.inPod)
}

// usesClaim reports whether the pod has begun to use the claim.
func usesClaim(r request) (bool, error) {
	if to, err := os.Readlink(r.inPod); err != nil || to != r.path {
		return false, nil
	}
	info, err := os.Lstat(r.path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	}
	return info.IsDir(), nil
}

// makeClaim makes the claim's directory: open to the users that the containers run
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

func giveClaim(ctx context.Context, path string, p *v1.Pod) error {
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
	return giveTo(ctx, path, group, readWrite)
}

// usersOf returns the pods but one that use a claim's directory.
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
