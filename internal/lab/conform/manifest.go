package conform

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// Namespace is the namespace of the pods, and Label is on each; its value is the mark of who
// made them.
const (
	Namespace = "podctl-conform"
	Label     = "podctl.io/conform"
)

// Command is the hidden command of podctl that runs steps.
const Command = "conform-probe"

// ManifestOptions are what the manifests need to know of the host and the runtime.
type ManifestOptions struct {
	Image string // one that the runtime has
	Probe string // path of podctl on the host
	Mark  string // value of Label
	Class string // runtime class, "" for none
	// Libraries are files on the host that podctl needs if it is linked dynamically, by their
	// path in containers.
	Libraries map[string]string
}

// program is where podctl is in the containers.
const program = "/podctl-conform"

// Manifest returns the documents of a behaviour, separated by ---.
func (p ManifestOptions) Manifest(b Behaviour) ([]byte, error) {
	documents := strings.Split(b.Spec, "\n---\n")
	var spec map[string]any
	if err := yaml.Unmarshal([]byte(strings.ReplaceAll(documents[0], "IMAGE", p.Image)), &spec); err != nil {
		return nil, fmt.Errorf("%s: %w", b.Name, err)
	}
	if _, ok := spec["containers"]; !ok {
		return nil, fmt.Errorf("%s: %w", b.Name, errNoContainers)
	}
	setDefault(spec, "restartPolicy", "Never")
	setDefault(spec, "terminationGracePeriodSeconds", 5)
	if p.Class != "" {
		spec["runtimeClassName"] = p.Class
	}
	volumes, _ := spec["volumes"].([]any)
	var mounts []any
	files := maps.Clone(p.Libraries)
	if files == nil {
		files = map[string]string{}
	}
	files[program] = p.Probe
	for n, path := range slices.Sorted(maps.Keys(files)) {
		name := fmt.Sprintf("podctl-%d", n)
		volumes = append(volumes, map[string]any{"name": name, "hostPath": map[string]any{"path": files[path], "type": "File"}})
		mounts = append(mounts, map[string]any{"name": name, "mountPath": path, "readOnly": true})
	}
	spec["volumes"] = volumes
	for _, kind := range []string{"initContainers", "containers"} {
		containers, _ := spec[kind].([]any)
		for _, c := range containers {
			p.complete(c.(map[string]any), mounts)
		}
	}
	metadata := map[string]any{"name": b.Name, "namespace": Namespace, "labels": map[string]any{Label: p.Mark}}
	doc, err := yaml.Marshal(map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})
	if err != nil {
		return nil, err
	}
	all := [][]byte{doc}
	for _, object := range documents[1:] {
		all = append(all, []byte(object))
	}
	return bytes.Join(all, []byte("\n---\n")), nil
}

func (p ManifestOptions) complete(c map[string]any, files []any) {
	maps.Copy(c, map[string]any{"image": p.Image, "imagePullPolicy": "Never"})
	if _, ok := c["command"]; !ok {
		c["command"] = []any{program, Command}
	}
	mounts, _ := c["volumeMounts"].([]any)
	c["volumeMounts"] = append(mounts, files...)
}

func setDefault(m map[string]any, key string, value any) {
	if _, ok := m[key]; !ok {
		m[key] = value
	}
}

// Steps returns the command that runs steps in a container.
func Steps(steps []string) []string { return append([]string{program, Command}, steps...) }
