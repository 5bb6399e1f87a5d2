package volume

import (
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
)

// Manager keeps the directories of all pods below one root.
type Manager struct {
	pods string

	mu sync.Mutex
	// mounted are the volumes made by this process, by pod and name.
	mounted map[types.UID]map[string]string
}

// New keeps pods in the directory pods below root. Nothing is made before the
// first pod.
func New(root string) *Manager {
	return &Manager{pods: filepath.Join(root, "pods"), mounted: map[types.UID]map[string]string{}}
}

// kind is one kind of volume.
type kind struct {
	// dir is the kind's directory in the pod's volumes, "" for a kind whose
	// volumes lie elsewhere: then elsewhere tells where.
	dir       string
	elsewhere func(*v1.Volume) string
	// owns tells whether a volume is of the kind.
	owns func(*v1.Volume) bool
	// setUp makes the volume and returns its host path. It must bear to be
	// repeated: after a crash, and after a failure.
	setUp func(request) (string, error)
}

// request is one volume to make. path is where it has to be; the parent of one
// in the kind's directory exists.
type request struct {
	pod    *v1.Pod
	volume *v1.Volume
	path   string
}

// kinds are all that podctl can make.
var kinds = []kind{emptyDir, hostPath}

// Error is a volume that could not be made.
type Error struct {
	Volume string
	Err    error
}

func (e *Error) Error() string { return fmt.Sprintf("set up volume %q: %v", e.Volume, e.Err) }

func (e *Error) Unwrap() error { return e.Err }

// Reason is the reason of the kubelet's event.
func (e *Error) Reason() string { return "FailedMount" }

// Mount makes the volumes that the pod's containers mount, and returns the
// host path of each. It tries all of them; the error joins an *Error for each
// that failed. What one call made the next returns unchecked, until Unmount.
func (m *Manager) Mount(ctx context.Context, p *v1.Pod) (map[string]string, error) {
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
		if _, done := paths[v.Name]; done || !isMounted(p, v.Name) {
			continue
		}
		path, err := m.setUp(ctx, p, v)
		if err != nil {
			errs = append(errs, &Error{Volume: v.Name, Err: err})
			continue
		}
		paths[v.Name] = path
	}
	m.mu.Lock()
	m.mounted[p.UID] = maps.Clone(paths)
	m.mu.Unlock()
	return paths, errors.Join(errs...)
}

func (m *Manager) setUp(ctx context.Context, p *v1.Pod, v *v1.Volume) (string, error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	for _, k := range kinds {
		if !k.owns(v) {
			continue
		}
		r := request{pod: p, volume: v, path: k.path(m.pods, p, v)}
		if k.dir != "" {
			if err := checkName("volume", v.Name); err != nil {
				return "", err
			}
			if err := os.MkdirAll(filepath.Dir(r.path), 0o750); err != nil {
				return "", err
			}
		}
		return k.setUp(r)
	}
	return "", fmt.Errorf("volumes of kind %s are not supported", kindName(v))
}

// isMounted tells whether any container mounts the volume: the kubelet makes
// no other (pkg/kubelet/volumemanager/populator/desired_state_of_world_populator.go).
func isMounted(p *v1.Pod, volume string) bool {
	for _, list := range [][]v1.Container{p.Spec.InitContainers, p.Spec.Containers} {
		for i := range list {
			for _, mount := range list[i].VolumeMounts {
				if mount.Name == volume {
					return true
				}
			}
		}
	}
	return false
}

// kindName is the field of the volume that is set.
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
// that lie elsewhere. It is no error if there are none.
func (m *Manager) Unmount(_ context.Context, uid types.UID) error {
	if err := checkName("uid", string(uid)); err != nil {
		return fmt.Errorf("remove volumes: %w", err)
	}
	// What is mounted comes first, the pod's directory itself last.
	if err := m.unmountSubPaths(uid); err != nil {
		return fmt.Errorf("remove volumes: %w", err)
	}
	if err := m.unshare(uid); err != nil {
		return fmt.Errorf("remove volumes: %w", err)
	}
	for _, dir := range []string{subPathsName, volumesName} {
		if err := remove(m.pods, string(uid), dir); err != nil {
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
