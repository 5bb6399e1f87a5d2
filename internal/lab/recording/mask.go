package recording

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

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
}

// maxValues bounds the values that are masked wherever they stand, and the names that are not, in
// bytes. What is more is masked where its name stands.
const maxValues = 4 << 20

// NewMask returns a Mask that also masks the values given, such as those of Secrets.
func NewMask(values [][]byte) *Mask { return &Mask{values: values} }

// Values returns the secret values that are known.
func (m *Mask) Values() [][]byte { return m.values }

// learn takes the secret values of a line, and its names and ids.
func (m *Mask) learn(l *line) error {
	for _, text := range []json.RawMessage{l.Answer, l.Owners, l.Node} {
		tree, err := expanded(text)
		if err != nil {
			return err
		}
		for _, value := range secret.Known(tree) {
			if m.size += len(value); m.size <= maxValues {
				m.values = append(m.values, value)
			}
		}
		m.addNames("", tree)
	}
	return nil
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
	return v, d.Decode(&v)
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
