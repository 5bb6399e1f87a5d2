package volume

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/sys/atomicfile"
	"github.com/podctl/podctl/internal/sys/bounded"
	"github.com/podctl/podctl/internal/sys/hint"
)

const (
	volumesName    = "volumes"
	containersName = "containers"
	// HostsName is the name of the pod's /etc/hosts, for WriteFile.
	HostsName = "etc-hosts"
)

// PodsDir returns where the directories of all pods lie.
func (m *Manager) PodsDir() string { return m.pods }

// Dir returns the pod's directory.
func (m *Manager) Dir(uid types.UID) string { return filepath.Join(m.pods, m.nameOf(uid)) }

func (m *Manager) volumesDir(uid types.UID) string { return filepath.Join(m.Dir(uid), volumesName) }

// PodDirs lists the names of the directories of pods.
func (m *Manager) PodDirs() ([]string, error) {
	entries, err := os.ReadDir(m.pods)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("list pod directories: %w", err)
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// CreatePod makes the pod's directory, which may exist (makePodDataDirs in
// pkg/kubelet/kubelet_pods.go).
func (m *Manager) CreatePod(uid types.UID) error {
	err := checkName("uid", string(uid))
	if err == nil {
		err = os.MkdirAll(m.volumesDir(uid), 0o750)
	}
	if err != nil {
		return fmt.Errorf("make pod directory: %w", err)
	}
	return nil
}

// RemoveTerminationLogs removes the files of a container's termination messages, but those
// in kept, as the mounts of the containers that exist name them. A crash loop would fill the
// disk with them.
func (m *Manager) RemoveTerminationLogs(uid types.UID, container string, kept map[string]bool) error {
	if err := errors.Join(checkName("uid", string(uid)), checkName("container", container)); err != nil {
		return err
	}
	dir := filepath.Join(m.Dir(uid), containersName, container)
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove termination logs: %w", err)
	}
	names := map[string]bool{} // the directory may have been mounted elsewhere then
	for path := range kept {
		names[filepath.Base(path)] = true
	}
	var errs []error
	for _, e := range entries {
		if !names[e.Name()] {
			errs = append(errs, os.Remove(filepath.Join(dir, e.Name())))
		}
	}
	return errors.Join(errs...)
}

// TerminationLog makes the file in which the next start of the container may
// leave a termination message, and returns its path. Every user may write it: the
// user of the container is not known here (makeMounts in
// pkg/kubelet/kuberuntime/kuberuntime_container.go).
func (m *Manager) TerminationLog(uid types.UID, container string) (string, error) {
	path, err := m.terminationLog(uid, container)
	if err != nil {
		return "", fmt.Errorf("make termination log: %w", err)
	}
	return path, nil
}

func (m *Manager) terminationLog(uid types.UID, container string) (string, error) {
	if err := errors.Join(checkName("uid", string(uid)), checkName("container", container)); err != nil {
		return "", err
	}
	dir := filepath.Join(m.Dir(uid), containersName, container)
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return "", err
	}
	id := make([]byte, 4)
	rand.Read(id) // never fails
	path := filepath.Join(dir, hex.EncodeToString(id))
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
	if err != nil {
		return "", err
	}
	return path, errors.Join(f.Chmod(0o666), f.Close()) // again, for the umask
}

// Has reports whether the pod has a directory. Pods of others may have UIDs that cannot
// name one.
func (m *Manager) Has(uid types.UID) bool {
	if checkName("uid", string(uid)) != nil {
		return false
	}
	_, err := os.Lstat(m.Dir(uid))
	return err == nil
}

// RemovePod removes the pod's directory and everything in it. It is no error
// if there is none. If anything is mounted in it nothing is removed, and the
// error names the mounts. What ctx cuts short may be repeated.
func (m *Manager) RemovePod(ctx context.Context, uid types.UID) error {
	if checkName("uid", string(uid)) != nil {
		return nil
	}
	if err := remove(ctx, m.pods, m.nameOf(uid)); err != nil {
		return fmt.Errorf("remove pod directory: %w", err)
	}
	m.forget(uid)
	return nil
}

// RemoveTree removes a directory in which directories of pods are, and everything in it.
// If anything is mounted in it nothing is removed, and the error names the mounts.
func RemoveTree(ctx context.Context, dir string) error {
	return remove(ctx, filepath.Dir(dir), filepath.Base(dir))
}

// checkName refuses what is not the name of one file.
func checkName(what, s string) error {
	if s == "" || s == "." || s == ".." || len(s) > maxNameLength || strings.ContainsAny(s, "/\x00") {
		return fmt.Errorf("%s %q cannot be the name of a directory", what, s)
	}
	return nil
}

// Paths returns the paths at which Mount will make the volumes of the pod's containers,
// with pod directories in podsDir and these objects. Nothing is created or checked.
// Volumes of unsupported kinds are omitted.
func Paths(podsDir string, p *v1.Pod, objects *pod.Objects) map[string]string {
	paths := map[string]string{}
	for i := range p.Spec.Volumes {
		v := &p.Spec.Volumes[i]
		if k := kindOf(v); k != nil && isMounted(p, v.Name) {
			paths[v.Name] = k.path(podsDir, filepath.Join(podsDir, string(p.UID)), p, v, objects)
		}
	}
	return paths
}

// path returns where a volume of the kind lies, with pod directories in pods, of which
// dir is the pod's.
func (k *kind) path(pods, dir string, p *v1.Pod, v *v1.Volume, objects *pod.Objects) string {
	if k.pathOutside != nil {
		return k.pathOutside(pods, p, v, objects)
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

// WriteFile writes a file of the pod's directory and returns its path. A
// reader sees the old content or the new; a file that has this content already stays
// the same file, so that containers that have it mounted go on seeing it.
func (m *Manager) WriteFile(uid types.UID, name string, content []byte, mode os.FileMode) (string, error) {
	if err := errors.Join(checkName("uid", string(uid)), checkName("file", name)); err != nil {
		return "", fmt.Errorf("write file: %w", err)
	}
	path := filepath.Join(m.Dir(uid), name)
	if same(path, content, mode) {
		return path, nil
	}
	if err := atomicfile.Replace(path, content, mode); err != nil {
		return "", fmt.Errorf("write file: %w", err)
	}
	return path, nil
}

// same reports whether a file has this content and mode. Containers can write to the
// file; no more than the length of the content is read.
func same(path string, content []byte, mode os.FileMode) bool {
	info, err := os.Lstat(path)
	if err != nil || info.Mode() != mode || info.Size() != int64(len(content)) {
		return false
	}
	old, err := bounded.Read(path, info.Size())
	return err == nil && bytes.Equal(old, content)
}

// mountedError returns the error for a directory of a pod that is not removed, because
// something is mounted in it that podctl has not mounted: a container did, through a
// volume with mountPropagation Bidirectional, or a user of the host.
func mountedError(path string, mounts []string) error {
	return hint.Errorf("a container with mountPropagation Bidirectional left it mounted: umount "+strings.Join(mounts, " "),
		"%s: still mounted in it: %s", path, strings.Join(mounts, ", "))
}
