package volume

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"sync"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
)

// Manager keeps the directories of all pods below one root.
type Manager struct {
	pods string
	// nameOf is the name of a pod's directory in pods.
	nameOf func(types.UID) string
	// token is a file with the token of all service accounts, "" for none.
	token string

	mu sync.Mutex
	// mounted are the volumes made by this process, by pod and name.
	mounted map[types.UID]map[string]string
}

// New keeps pods in the directory pods below root. Nothing is made before the
// first pod.
func New(root string) *Manager {
	return NewNamed(root, func(uid types.UID) string { return string(uid) })
}

// NewNamed is New with directories that nameOf names.
func NewNamed(root string, nameOf func(types.UID) string) *Manager {
	return &Manager{pods: filepath.Join(root, "pods"), nameOf: nameOf, mounted: map[types.UID]map[string]string{}}
}

// kind is one kind of volume.
type kind struct {
	// dir is the kind's directory in the pod's volumes, "" for a kind that has
	// nothing there.
	dir string
	// pathOutside tells where the kind's volumes lie, with pod directories in
	// pods; nil for one whose volumes lie in its directory.
	pathOutside func(pods string, p *v1.Pod, v *v1.Volume, objects *pod.Objects) string
	// owns reports whether a volume is of the kind.
	owns func(*v1.Volume) bool
	// setUp makes the volume. It must bear to be repeated: after a crash, and
	// after a failure.
	setUp func(context.Context, request) error
	// live: what is in the volume follows the pod and its objects, so that
	// it is set up again by every Mount.
	live bool
}

// request is one volume to make.
type request struct {
	pod    *v1.Pod
	volume *v1.Volume
	in     pod.VolumeInput
	// path is where it has to be; inPod its place in the kind's directory, the
	// parent of which exists; pods has the directories of all pods.
	path, inPod, pods string
	// dir is the pod's directory.
	dir string
	// token is a file with the token of all service accounts, "" for none.
	token string
}

// kinds are all that podctl can make.
var kinds = []kind{emptyDir, hostPath, configMap, secret, downward, projected, claim, ephemeral, image}

// kindOf returns the kind of a volume, nil if podctl cannot make it.
func kindOf(v *v1.Volume) *kind {
	for i := range kinds {
		if kinds[i].owns(v) {
			return &kinds[i]
		}
	}
	return nil
}

// Error is a volume that could not be made, or brought up to date.
type Error struct {
	Volume string
	Err    error
	// Old: the volume was made before, and still has what it had then.
	Old bool
}

func (e *Error) Error() string { return fmt.Sprintf("set up volume %q: %v", e.Volume, e.Err) }

func (e *Error) Unwrap() error { return e.Err }

// Reason returns the reason of the kubelet's event.
func (e *Error) Reason() string { return "FailedMount" }

// EventMessage returns the message of the kubelet's event.
func (e *Error) EventMessage() string {
	return fmt.Sprintf("MountVolume.SetUp failed for volume %q : %v", e.Volume, e.Err)
}

// Harmless reports whether containers can start all the same: only the newest
// contents are missing.
func (e *Error) Harmless() bool { return e.Old }

// Mount makes the volumes that the pod's containers mount, and returns the
// host path of each. It tries all of them; the error joins an *Error for each
// that failed. What one call made the next returns unchecked, until Unmount,
// but for the volumes whose contents follow the pod and its objects: their
// files are brought up to date, in one instant for those of each volume.
func (m *Manager) Mount(ctx context.Context, p *v1.Pod, in pod.VolumeInput) (map[string]string, error) {
	if err := m.CreatePod(p.UID); err != nil {
		return nil, err
	}
	if err := m.share(p); err != nil {
		return nil, fmt.Errorf("make the pod's directory a shared mount: %w", err)
	}
	m.mu.Lock()
	paths := maps.Clone(m.mounted[p.UID])
	m.mu.Unlock()
	if paths == nil {
		paths = map[string]string{}
	}
	var errs []error
	for i := range p.Spec.Volumes {
		v := &p.Spec.Volumes[i]
		if !isMounted(p, v.Name) {
			continue
		}
		k := kindOf(v)
		_, done := paths[v.Name]
		if done && (k == nil || !k.live) {
			continue
		}
		path, err := m.setUp(ctx, k, request{pod: p, volume: v, in: in, pods: m.pods, dir: m.Dir(p.UID), token: m.token})
		if err != nil {
			errs = append(errs, &Error{Volume: v.Name, Err: err, Old: done})
			continue
		}
		paths[v.Name] = path
	}
	m.mu.Lock()
	m.mounted[p.UID] = maps.Clone(paths)
	m.mu.Unlock()
	return paths, errors.Join(errs...)
}

func (m *Manager) setUp(ctx context.Context, k *kind, r request) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	if k == nil {
		return "", fmt.Errorf("volumes of kind %s are not supported", kindName(r.volume))
	}
	r.path = k.path(m.pods, r.dir, r.pod, r.volume, r.in.Objects)
	if k.dir != "" {
		if err := checkName("volume", r.volume.Name); err != nil {
			return "", err
		}
		r.inPod = k.inPod(r.dir, r.volume)
		if err := os.MkdirAll(filepath.Dir(r.inPod), 0o750); err != nil {
			return "", err
		}
	}
	if k.pathOutside != nil && k.dir != "" {
		r.path = cmp.Or(linkedDir(r.inPod), r.path)
	}
	return r.path, k.setUp(ctx, r)
}

// isMounted reports whether any container mounts the volume: the kubelet makes
// no other (pkg/kubelet/volumemanager/populator/desired_state_of_world_populator.go).
func isMounted(p *v1.Pod, volume string) bool {
	for c := range pod.AllContainers(p) {
		for _, mount := range c.VolumeMounts {
			if mount.Name == volume {
				return true
			}
		}
	}
	return false
}

// kindName returns the field of the volume that is set.
func kindName(v *v1.Volume) string {
	b, err := json.Marshal(v.VolumeSource)
	if err != nil {
		return "unknown"
	}
	set := map[string]json.RawMessage{}
	if err := json.Unmarshal(b, &set); err != nil {
		return "unknown"
	}
	for name := range set {
		return name
	}
	return "emptyDir"
}

// Unmount removes the pod's volumes with all that is in them, but for those
// that lie elsewhere. It unmounts what Mount has mounted, in this process or
// another, and is no error if there is nothing.
func (m *Manager) Unmount(ctx context.Context, uid types.UID) error {
	if checkName("uid", string(uid)) != nil {
		return nil
	}
	// What is mounted comes first, the pod's directory itself last.
	if err := m.unmountSubPaths(uid); err != nil {
		return fmt.Errorf("remove volumes: %w", err)
	}
	if err := unmountVolumes(m.pods, m.nameOf(uid)); err != nil {
		return fmt.Errorf("remove volumes: %w", err)
	}
	if err := m.unshare(uid); err != nil {
		return fmt.Errorf("remove volumes: %w", err)
	}
	for _, dir := range []string{subPathsName, volumesName} {
		if err := remove(ctx, m.pods, m.nameOf(uid), dir); err != nil {
			return fmt.Errorf("remove volumes: %w", err)
		}
	}
	m.forget(uid)
	return nil
}

func (m *Manager) forget(uid types.UID) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.mounted, uid)
}
