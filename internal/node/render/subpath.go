package render

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
)

// SubPath is a part of a volume that a container mounts. The owner of the
// volumes makes it and hands its host path back in ContainerInput.SubPaths.
type SubPath struct {
	// Index is the position in the container's volumeMounts.
	Index int
	// Volume is the volume's name, Path the part, relative and without "..".
	Volume, Path string
	// Dir is where the kubelet mounts it (Node.SubPathDir).
	Dir string
}

// SubPaths lists the parts of volumes that the container mounts, with the
// references in subPathExpr resolved. Those of image volumes are the runtime's
// business and not listed. An error is an *Error with ReasonContainer.
func SubPaths(p *v1.Pod, c *v1.Container, in ContainerInput) ([]SubPath, error) {
	fail := func(err error) ([]SubPath, error) { return nil, containerError(c, err) }
	env, err := makeEnvironment(p, c, in)
	if err != nil {
		return fail(err)
	}
	var out []SubPath
	for i := range c.VolumeMounts {
		m := &c.VolumeMounts[i]
		path, err := subPathOf(m, env)
		if err != nil {
			return fail(err)
		}
		if _, image := in.ImageVolumes[m.Name]; path == "" || image {
			continue
		}
		out = append(out, SubPath{Index: i, Volume: m.Name, Path: path, Dir: in.Node.SubPathDir(p.UID, m.Name, c.Name, i)})
	}
	return out, nil
}

// subPathOf returns the path within the volume that m mounts, "" for the whole volume.
// A missing or empty variable is an error: it would mount more than intended.
func subPathOf(m *v1.VolumeMount, env *environment) (string, error) {
	path := m.SubPath
	if m.SubPathExpr != "" {
		var missing []string
		var err error
		path, err = pod.Expand(m.SubPathExpr, pod.MaxExpanded-env.size, func(name string) (string, bool) {
			if env.values[name] == "" {
				missing = append(missing, name)
			}
			return env.values[name], true
		})
		if err != nil {
			return "", err
		}
		env.size += len(path)
		if len(missing) > 0 {
			slices.Sort(missing)
			return "", fmt.Errorf("missing value for %s", strings.Join(slices.Compact(missing), ", "))
		}
	}
	if filepath.IsAbs(path) {
		return "", fmt.Errorf("error SubPath `%s` must not be an absolute path", path)
	}
	if slices.Contains(strings.Split(path, "/"), "..") {
		return "", fmt.Errorf("unable to provision SubPath `%s`: must not contain '..'", path)
	}
	return path, nil
}
