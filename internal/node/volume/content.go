package volume

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/utils/ptr"

	"github.com/podctl/podctl/internal/pod"
)

// The kinds whose files podctl writes: configMap, secret, downwardAPI and
// projected. They are brought up to date at every Mount.

// contentKind returns a kind of volume with files that podctl writes. collect returns
// the files; memory keeps them off the disk.
func contentKind(dir string, memory bool, owns func(*v1.Volume) bool, collect func(request) (files, error)) kind {
	setUp := func(ctx context.Context, r request) error {
		want, err := collect(r)
		if err != nil {
			return err
		}
		base := setUpDirectory
		if memory {
			base = setUpMemory
		}
		if err := base(ctx, r); err != nil {
			return err
		}
		if err := makeMountPoints(r.path, r.pod, r.volume.Name); err != nil {
			return err
		}
		return writeFiles(r.path, want, func() error { return giveTo(ctx, r.path, fsGroup(r.pod), readOnly) })
	}
	return kind{dir: dir, owns: owns, setUp: setUp, live: true}
}

var errNoMode = errors.New("no defaultMode used, not even the default value for it")

// pick returns files for the values of an object: for all, or for those that items
// name. missing returns the error for a missing key, nil if the key is optional.
func pick(values map[string][]byte, items []v1.KeyToPath, mode *int32, missing func(key string) error) (files, error) {
	if mode == nil {
		return nil, errNoMode
	}
	picked := files{}
	if len(items) == 0 {
		for key, value := range values {
			picked[key] = file{data: value, mode: os.FileMode(*mode)}
		}
	}
	for _, item := range items {
		value, ok := values[item.Key]
		if !ok {
			if err := missing(item.Key); err != nil {
				return nil, err
			}
			continue
		}
		picked[item.Path] = file{data: value, mode: modeFor(item.Mode, mode)}
	}
	return picked, nil
}

// modeFor returns a file's own mode, else the volume's.
func modeFor(own, volume *int32) os.FileMode {
	if own != nil {
		return os.FileMode(*own)
	}
	return os.FileMode(*volume)
}

const secretName = "kubernetes.io~secret"

// secret has the data of a Secret as files, in memory
// (pkg/volume/secret/secret.go). Its values are in no error.
var secret = contentKind(secretName, true,
	func(v *v1.Volume) bool { return v.Secret != nil },
	func(r request) (files, error) {
		s := r.volume.Secret
		return secretFiles(r, s.SecretName, s.Items, s.DefaultMode, ptr.Deref(s.Optional, false))
	})

func secretFiles(r request, name string, items []v1.KeyToPath, mode *int32, optional bool) (files, error) {
	object := r.in.Objects.Secret(r.pod.Namespace, name)
	switch {
	case object == nil && !optional:
		return nil, fmt.Errorf("secret %q not found", name)
	case object == nil:
		object = &v1.Secret{}
	}
	return pick(object.Data, items, mode, func(key string) error {
		if optional {
			return nil
		}
		return fmt.Errorf("references non-existent secret key: %s", key)
	})
}

// configMap has the data of a ConfigMap as files, on disk
// (pkg/volume/configmap/configmap.go).
var configMap = contentKind("kubernetes.io~configmap", false,
	func(v *v1.Volume) bool { return v.ConfigMap != nil },
	func(r request) (files, error) {
		s := r.volume.ConfigMap
		return configMapFiles(r, s.Name, s.Items, s.DefaultMode, ptr.Deref(s.Optional, false))
	})

func configMapFiles(r request, name string, items []v1.KeyToPath, mode *int32, optional bool) (files, error) {
	object := r.in.Objects.ConfigMap(r.pod.Namespace, name)
	switch {
	case object == nil && !optional:
		return nil, fmt.Errorf("configmap %q not found", name)
	case object == nil:
		object = &v1.ConfigMap{}
	}
	values := map[string][]byte{}
	maps.Copy(values, object.BinaryData)
	for key, value := range object.Data {
		values[key] = []byte(value)
	}
	return pick(values, items, mode, func(key string) error {
		if optional {
			return nil
		}
		return fmt.Errorf("configmap references non-existent config key: %s", key)
	})
}

const projectName = "kubernetes.io~projected"

// projected has several sources in one directory, in memory: of two files of
// one path, the later source's counts (pkg/volume/projected/projected.go).
var projected = contentKind(projectName, true,
	func(v *v1.Volume) bool { return v.Projected != nil },
	func(r request) (files, error) {
		mode := r.volume.Projected.DefaultMode
		if mode == nil {
			return nil, errNoMode
		}
		all := files{}
		var errs []error
		for i := range r.volume.Projected.Sources {
			some, err := projectedFiles(r, &r.volume.Projected.Sources[i], mode)
			if err != nil {
				errs = append(errs, err)
				continue
			}
			maps.Copy(all, some)
		}
		return all, utilerrors.NewAggregate(errs)
	})

func projectedFiles(r request, s *v1.VolumeProjection, mode *int32) (files, error) {
	switch {
	case s.ConfigMap != nil:
		return configMapFiles(r, s.ConfigMap.Name, s.ConfigMap.Items, mode, ptr.Deref(s.ConfigMap.Optional, false))
	case s.Secret != nil:
		return secretFiles(r, s.Secret.Name, s.Secret.Items, mode, ptr.Deref(s.Secret.Optional, false))
	case s.DownwardAPI != nil:
		return downwardFiles(r, s.DownwardAPI.Items, mode)
	case s.ServiceAccountToken != nil:
		return tokenFiles(r, s.ServiceAccountToken, mode)
	}
	return nil, errors.New("a projected source that needs a control plane")
}

const downwardName = "kubernetes.io~downward-api"

// downward has fields of the pod and of its containers' resources as files, in
// memory (pkg/volume/downwardapi/downwardapi.go).
var downward = contentKind(downwardName, true,
	func(v *v1.Volume) bool { return v.DownwardAPI != nil },
	func(r request) (files, error) {
		s := r.volume.DownwardAPI
		return downwardFiles(r, s.Items, s.DefaultMode)
	})

func downwardFiles(r request, items []v1.DownwardAPIVolumeFile, mode *int32) (files, error) {
	if mode == nil {
		return nil, errNoMode
	}
	if r.in.Downward == nil {
		return nil, errors.New("there is no downward API")
	}
	found := files{}
	var errs []error
	for _, item := range items {
		value, err := r.in.Downward(item)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", item.Path, err))
			continue
		}
		found[item.Path] = file{data: []byte(value), mode: modeFor(item.Mode, mode)}
	}
	return found, utilerrors.NewAggregate(errs)
}

// makeMountPoints makes the directories in a volume on which containers mount
// other volumes: in one that is read-only to them the runtime cannot
// (pkg/volume/util/nested_volumes.go).
func makeMountPoints(dir string, p *v1.Pod, volume string) error {
	for c := range pod.AllContainers(p) {
		for _, point := range mountPoints(c, volume) {
			if !filepath.IsLocal(point) {
				return fmt.Errorf("invalid container mount point %v", point)
			}
			if err := os.MkdirAll(filepath.Join(dir, point), 0o755); err != nil {
				return fmt.Errorf("unable to create nested volume mountpoints: %w", err)
			}
		}
	}
	return nil
}

// mountPoints returns where the container mounts something in the volume, relative
// to it; not what is mounted in those in turn.
func mountPoints(c *v1.Container, volume string) []string {
	var all, found []string
	for _, m := range c.VolumeMounts {
		all = append(all, filepath.Clean(m.MountPath)+"/")
	}
	slices.Sort(all)
	for _, m := range c.VolumeMounts {
		if m.Name != volume {
			continue
		}
		within := filepath.Clean(m.MountPath) + "/"
		var outer []string
		for _, point := range all {
			nested := strings.HasPrefix(point, within) && point != within
			if !nested || slices.ContainsFunc(outer, func(o string) bool { return strings.HasPrefix(point, o) }) {
				continue
			}
			outer = append(outer, point)
			found = append(found, strings.TrimSuffix(strings.TrimPrefix(point, within), "/"))
		}
	}
	return found
}
