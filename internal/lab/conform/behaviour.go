package conform

import (
	"bytes"
	_ "embed" // behaviours.yaml
	"encoding/json"
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/podctl/podctl/internal/lab/conform/inside"
)

// Namespace is the namespace of the pods, and Label is on each; its value is the mark of who
// made them.
const (
	Namespace = "podctl-conform"
	Label     = "podctl.io/conform"
)

// Behaviour is a row of behaviours.yaml: a pod, and what must be true in it.
type Behaviour struct {
	Name    string            `json:"name"`
	About   string            `json:"about"`
	Needs   string            `json:"needs"` // a feature of the runtime handler: userNamespaces
	Spec    json.RawMessage   `json:"spec"`
	Objects []json.RawMessage `json:"objects"` // of the name and namespace of the pod
	Until   map[string]any    `json:"until"`
	Exec    []string          `json:"exec"` // steps in the first container, at that moment
	Expect  map[string]any    `json:"expect"`
	// Unsupported is why the behaviour is not offered, if it deviates and When is true.
	Unsupported struct {
		When map[string]any `json:"when"`
		Why  string         `json:"why"`
	} `json:"unsupported"`
}

//go:embed behaviours.yaml
var table []byte

// All returns all behaviours, family by family.
func All() []Behaviour {
	var all []Behaviour
	if err := yaml.UnmarshalStrict(table, &all); err != nil {
		panic(fmt.Sprintf("behaviours.yaml: %v", err)) // a test reads it
	}
	return all
}

// ManifestOptions are what the manifests need to know of the host and the runtime.
type ManifestOptions struct {
	Image string // one that the runtime has
	Mark  string // value of Label
	Class string // runtime class, "" for none
	// Podctl is the path on the host of the program that runs in the containers.
	Podctl string
}

// Manifest returns the documents of a behaviour, separated by ---.
func (p ManifestOptions) Manifest(b Behaviour) ([]byte, error) {
	spec := map[string]any{"restartPolicy": "Never", "terminationGracePeriodSeconds": 5}
	if err := json.Unmarshal([]byte(strings.ReplaceAll(string(b.Spec), "IMAGE", p.Image)), &spec); err != nil {
		return nil, fmt.Errorf("%s: %w", b.Name, err)
	}
	if p.Class != "" {
		spec["runtimeClassName"] = p.Class
	}
	volumes, _ := spec["volumes"].([]any)
	spec["volumes"] = append(volumes, map[string]any{"name": "podctl", "hostPath": map[string]any{"path": p.Podctl, "type": "File"}})
	for _, kind := range []string{"initContainers", "containers"} {
		containers, _ := spec[kind].([]any)
		for _, c := range containers {
			c := c.(map[string]any)
			c["image"], c["imagePullPolicy"] = p.Image, "Never"
			if c["command"] == nil {
				c["command"] = []string{program, inside.Command}
			}
			mounts, _ := c["volumeMounts"].([]any)
			c["volumeMounts"] = append(mounts, map[string]any{"name": "podctl", "mountPath": program, "readOnly": true})
		}
	}
	metadata := map[string]any{"name": b.Name, "namespace": Namespace}
	var all [][]byte
	add := func(object map[string]any) error {
		object["apiVersion"], object["metadata"] = "v1", metadata
		document, err := yaml.Marshal(object)
		all = append(all, document)
		return err
	}
	for _, text := range b.Objects {
		object := map[string]any{}
		if err := json.Unmarshal(text, &object); err != nil {
			return nil, fmt.Errorf("%s: %w", b.Name, err)
		}
		if err := add(object); err != nil {
			return nil, err
		}
	}
	metadata["labels"] = map[string]any{Label: p.Mark}
	err := add(map[string]any{"kind": "Pod", "spec": spec})
	return bytes.Join(all, []byte("\n---\n")), err
}
