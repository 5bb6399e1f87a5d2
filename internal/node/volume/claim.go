package volume

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	helper "k8s.io/component-helpers/storage/ephemeral"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/sys/flock"
)

const (
	claimName = "kubernetes.io~local-volume"
	// claimLocksName lies beside the directories of the namespaces, none of
	// which has such a name.
	claimLocksName = ".locks"
)

// claim is a directory that the pods of a claim share and that outlives them: that of the
// hostPath or local volume to which the claim is bound, else one of podctl's own:
//
//	<root>/claims/NAMESPACE/NAME                          what containers see; never removed
//	<root>/claims/.locks/NAMESPACE/NAME                   held while a pod begins to use it
//	<root>/pods/<uid>/volumes/kubernetes.io~local-volume/VOLUME
//	                                                      a symlink to it, as long as the pod uses it
//
// What local volumes are to the kubelet (pkg/volume/local/local.go), but
// without a mount. A pod that has begun to use a directory keeps it, whatever the claim
// is bound to later, and so do later pods of the claim: see keepData.
var claim = kind{
	dir:  claimName,
	owns: func(v *v1.Volume) bool { return v.PersistentVolumeClaim != nil },
	pathOutside: func(pods string, p *v1.Pod, v *v1.Volume, objects *pod.Objects) string {
		name := v.PersistentVolumeClaim.ClaimName
		if bound := objects.Binding(p.Namespace, name).Path(); bound != "" {
			return bound
		}
		return filepath.Join(claimsDir(pods), p.Namespace, name)
	},
	setUp: setUpClaim,
}

// claimsDir returns the directory of the claims, beside that of the pods.
func claimsDir(pods string) string { return filepath.Join(filepath.Dir(pods), "claims") }

// claimWait bounds the wait for a claim that another pod begins to use: giving
// a large one to its group takes long.
const claimWait = 5 * time.Second

// lockClaim lets one pod at a time, of all podctl processes with this root,
// begin to use a claim.
func lockClaim(ctx context.Context, r request) (unlock func(), err error) {
	dir, name := filepath.Join(claimsDir(r.pods), claimLocksName, r.pod.Namespace), r.volume.PersistentVolumeClaim.ClaimName
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	waiting, cancel := context.WithTimeout(ctx, claimWait)
	defer cancel()
	unlock, err = flock.Lock(waiting, filepath.Join(dir, name))
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return nil, fmt.Errorf("persistentvolumeclaim %q is being prepared for another pod", name)
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
	binding := r.in.Objects.Binding(r.pod.Namespace, source.ClaimName)
	if binding.Pending != "" {
		return fmt.Errorf("persistentvolumeclaim %q is not bound: %s", source.ClaimName, binding.Pending)
	}
	if err := cmp.Or(binding.CheckSupported(), binding.CheckNode(r.in.Objects.Hostname)); err != nil {
		return err
	}
	if linkedDir(r.inPod) != "" {
		return nil
	}
	unlock, err := lockClaim(ctx, r)
	if err != nil {
		return err
	}
	defer unlock()
	if err := keepData(r, object, binding); err != nil {
		return err
	}
	if err := prepareClaim(r.path, binding.Volume); err != nil {
		return err
	}
	others, err := usersOf(r.pods, r.path, filepath.Base(r.dir))
	if err != nil {
		return err
	}
	if len(others) > 0 && slices.Contains(object.Spec.AccessModes, v1.ReadWriteOncePod) {
		return errors.New("volume uses the ReadWriteOncePod access mode and is already in use by another pod")
	}
	// The first pod decides the owner of the directory, but for a path of the host.
	isHostPath := binding.Volume != nil && binding.Volume.Spec.HostPath != nil
	if len(others) == 0 && !source.ReadOnly && !isHostPath {
		if err := giveClaim(ctx, r.path, r.pod); err != nil {
			return err
		}
	}
	if err := os.Remove(r.inPod); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Symlink(r.path, r.inPod)
}

// linkedDir returns the directory to which the pod's symlink points, "" if there is none.
func linkedDir(inPod string) string {
	to, err := os.Readlink(inPod)
	if err != nil {
		return ""
	}
	if info, err := os.Lstat(to); err != nil || !info.IsDir() {
		return ""
	}
	return to
}

// prepareClaim makes what a claim without a volume needs, and checks that of one with a
// hostPath or local volume.
func prepareClaim(path string, bound *v1.PersistentVolume) error {
	switch {
	case bound == nil:
		return makeClaim(path)
	case bound.Spec.HostPath != nil:
		return prepareHostPath(path, bound.Spec.HostPath.Type)
	}
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("path %q does not exist", path)
	case err == nil && !info.IsDir():
		return fmt.Errorf("%s is not a directory", path)
	}
	return err
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

// ephemeral is a claim of one pod, whose directory is in the pod's and is removed
// with it. In a cluster a controller makes the claim, which belongs to the pod
// (pkg/controller/volume/ephemeral/controller.go).
var ephemeral = kind{
	dir:   claimName,
	owns:  func(v *v1.Volume) bool { return v.Ephemeral != nil },
	setUp: setUpEphemeral,
}

// setUpEphemeral refuses a claim that has the name of the pod's own, as the kubelet
// does (VolumeIsForPod in k8s.io/component-helpers/storage/ephemeral).
func setUpEphemeral(ctx context.Context, r request) error {
	name := helper.VolumeClaimName(r.pod, r.volume)
	if r.in.Objects.Claim(r.pod.Namespace, name) != nil {
		return fmt.Errorf("PVC %s/%s was not created for pod %s/%s (pod is not owner)", r.pod.Namespace, name, r.pod.Namespace, r.pod.Name)
	}
	return setUpDirectory(ctx, r)
}
