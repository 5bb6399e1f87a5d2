package recording

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/desired/manifest"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/secret"
)

// Mask keeps secrets off a recording. Messages keep their form: only texts are masked.
type Mask struct {
	values [][]byte
	size   int // of values, in bytes
	// open are the names and ids in the recording, which are not masked as values.
	open   bytes.Buffer
	masker *secret.Masker // nil before all values are known
	// specs are the containers of the recording's manifests, and environments the lists of variables that
	// the runtime has of a container.
	specs        map[containerName]*v1.Container
	environments map[containerName][]any
}

// containerName names a container of a pod.
type containerName struct{ namespace, pod, container string }

// maxValues bounds the values that are masked wherever they stand, and the names that are not, in
// bytes. What is more is masked where its name stands.
const maxValues = 4 << 20

// NewMask returns a Mask that also masks the values given, such as those of Secrets.
func NewMask(values [][]byte) *Mask {
	return &Mask{values: values, specs: map[containerName]*v1.Container{}, environments: map[containerName][]any{}}
}

// Values returns the secret values that are known: after Finish, those of the recording, too.
func (m *Mask) Values() [][]byte { return m.values }

// learn takes the secret values of a line, and its names and ids.
func (m *Mask) learn(l *line) error {
	for _, text := range []json.RawMessage{l.Answer, l.Owners, l.Node} {
		tree, err := expanded(text)
		if err != nil {
			return err
		}
		m.add(secret.Known(tree))
		m.addNames("", tree)
		m.addSpecs(tree)
		m.addEnvironment(tree)
	}
	return nil
}

// add adds secret values.
func (m *Mask) add(values [][]byte) {
	for _, value := range values {
		if m.size += len(value); m.size <= maxValues {
			m.values = append(m.values, value)
		}
	}
}

// addSpecs adds the containers of each pod's manifest in a tree.
func (m *Mask) addSpecs(tree any) {
	switch tree := tree.(type) {
	case map[string]any:
		if spec, ok := tree["spec"].(map[string]any); ok && spec["containers"] != nil {
			var p v1.Pod
			if text, err := json.Marshal(tree); err == nil && json.Unmarshal(text, &p) == nil {
				for c := range pod.AllContainers(&p) {
					m.specs[containerName{cmp.Or(p.Namespace, v1.NamespaceDefault), p.Name, c.Name}] = c
				}
			}
		}
		for _, v := range tree {
			m.addSpecs(v)
		}
	case []any:
		for _, v := range tree {
			m.addSpecs(v)
		}
	}
}

// addEnvironment adds the variables in the status of a container.
func (m *Mask) addEnvironment(answer any) {
	fields, _ := answer.(map[string]any)
	status, _ := fields["status"].(map[string]any)
	labels, _ := status["labels"].(map[string]any)
	label := func(key string) string { text, _ := labels[key].(string); return text }
	if name := (containerName{label(pod.NamespaceLabel), label(pod.NameLabel), label(pod.ContainerNameLabel)}); name.container != "" {
		m.environments[name] = append(m.environments[name], secret.Environment(fields[infoField])...)
	}
}

// names are the fields of the CRI that identify things.
var names = []string{
	"id", "name", "namespace", "uid", "podSandboxId", "containerId", "image", "imageId", "imageRef", "repoTags", "repoDigests", "runtimeName", "runtimeVersion",
	pod.NameLabel, pod.NamespaceLabel, pod.UIDLabel, pod.ContainerNameLabel,
}

func (m *Mask) addNames(key string, tree any) {
	switch tree := tree.(type) {
	case map[string]any:
		for k, v := range tree {
			if k != "info" {
				m.addNames(k, v)
			}
		}
	case []any:
		for _, v := range tree {
			m.addNames(key, v)
		}
	case string:
		if slices.Contains(names, key) && m.open.Len() < maxValues {
			m.open.WriteString(tree + ",")
		}
	}
}

// apply masks a line, once all lines were learnt.
func (m *Mask) apply(l *line) error {
	if m.masker == nil {
		for name, environment := range m.environments {
			if c := m.specs[name]; c != nil {
				m.add(secret.FromSecrets(environment, c))
			}
		}
		m.masker = secret.NewMasker(m.values, m.open.Bytes)
	}
	if l.Error != nil {
		masked := *l.Error
		masked.Text = m.masker.Text(masked.Text)
		l.Error = &masked
	}
	if l.File != nil {
		masked := *l.File
		masked.Text = m.masker.Text(masked.Text)
		l.File = &masked
	}
	for _, text := range []*json.RawMessage{&l.Answer, &l.Owners, &l.Node} {
		if *text == nil {
			continue
		}
		tree, err := expanded(*text)
		if err != nil {
			return err
		}
		if tree, err = collapsed(m.masker.Tree(tree)); err != nil {
			return err
		}
		if *text, err = json.Marshal(tree); err != nil {
			return err
		}
	}
	return nil
}

// masked returns how many texts were masked.
func (m *Mask) masked() int {
	if m.masker == nil {
		return 0
	}
	return m.masker.Total()
}

// parsed is a JSON value with its numbers as they are written.
func parsed(text []byte) (v any, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	err = d.Decode(&v)
	return v, err
}

// infoField is the verbose part of an answer: texts by name, of which most are JSON.
const infoField = "info"

// expanded returns an answer with the texts in it that are JSON as values: the verbose part, and
// podctl's manifests, whose variables can be found only then. collapsed is the reverse.
func expanded(answer json.RawMessage) (any, error) {
	if answer == nil {
		return nil, nil
	}
	v, err := parsed(answer)
	if err != nil {
		return nil, err
	}
	if fields, ok := v.(map[string]any); ok {
		info, _ := fields[infoField].(map[string]any)
		for name, text := range info {
			if text, isText := text.(string); isText {
				inner, err := parsed([]byte(text))
				if _, isObject := inner.(map[string]any); err == nil && isObject {
					info[name] = inner
				}
			}
		}
	}
	return eachManifest(v, func(m any) any {
		text, isText := m.(string)
		document, err := manifest.Decompress(text)
		if !isText || err != nil {
			return m
		}
		inner, err := parsed(document)
		if err != nil {
			return m
		}
		return inner
	}), nil
}

func collapsed(v any) (any, error) {
	var failed error
	v = eachManifest(v, func(m any) any {
		if _, isText := m.(string); isText {
			return m
		}
		document, err := json.Marshal(m)
		if err == nil {
			var text string
			if text, err = manifest.Compress(document); err == nil {
				return text
			}
		}
		failed = fmt.Errorf("mask manifest: %w", err)
		return secret.Placeholder
	})
	if fields, ok := v.(map[string]any); ok {
		info, _ := fields[infoField].(map[string]any)
		for name, inner := range info {
			if _, isText := inner.(string); isText {
				continue
			}
			text, err := json.Marshal(inner)
			if err != nil {
				return nil, err
			}
			info[name] = string(text)
		}
	}
	return v, failed
}

// eachManifest replaces podctl's manifests in annotations, wherever they are.
func eachManifest(v any, by func(any) any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			if key == pod.ManifestAnnotation {
				v[key] = by(value)
			} else {
				v[key] = eachManifest(value, by)
			}
		}
	case []any:
		for i := range v {
			v[i] = eachManifest(v[i], by)
		}
	}
	return v
}
