package tape

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/podctl/podctl/internal/desired/manifest"
	"github.com/podctl/podctl/internal/pod"
	"github.com/podctl/podctl/internal/pod/secret"
	"github.com/podctl/podctl/internal/pods/report"
)

// Mask keeps secrets off a tape: values of variables that have the name of one, values that are
// given, and what looks like a secret, wherever they stand. Messages keep their form: only
// texts are masked.
type Mask struct {
	values [][]byte
	// open are the names and ids on the tape, which are not masked as values.
	open   bytes.Buffer
	masker *report.Masker // nil before all values are known
	masked int
}

// NewMask returns a Mask that also masks the values given, such as those of Secrets.
func NewMask(values [][]byte) *Mask { return &Mask{values: values} }

// learn takes the secret values of a line, and its names and ids.
func (m *Mask) learn(l *line) error {
	for _, text := range []json.RawMessage{l.Answer, l.Owners, l.Node} {
		tree, err := expanded(text)
		if err != nil {
			return err
		}
		_, values := secret.AnswerAndValues(tree, secret.NamesOf(nil))
		m.values = append(append(m.values, values...), headers(tree)...)
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
		if slices.Contains(names, key) {
			m.open.WriteString(tree + "\n")
		}
	}
}

// apply masks a line, once all lines were learnt.
func (m *Mask) apply(l *line) error {
	if m.masker == nil {
		m.masker = report.NewMasker(m.values, m.open.Bytes)
	}
	if l.Error != nil {
		masked := *l.Error
		masked.Text = m.masker.Text(masked.Text)
		l.Error = &masked
	}
	if l.File != nil {
		masked := *l.File
		masked.Text = m.masker.Text(masked.Text)
		m.masked += strings.Count(masked.Text, secret.Placeholder) - strings.Count(l.File.Text, secret.Placeholder)
		l.File = &masked
	}
	for _, text := range []*json.RawMessage{&l.Answer, &l.Owners, &l.Node} {
		if err := m.applyTo(text); err != nil {
			return err
		}
	}
	return nil
}

// applyTo masks an answer; nil is none.
func (m *Mask) applyTo(text *json.RawMessage) error {
	if *text == nil {
		return nil
	}
	tree, err := expanded(*text)
	if err != nil {
		return err
	}
	hidden := m.tree(secret.Answer(tree, secret.NamesOf(nil)))
	m.masked += count(hidden)
	if hidden, err = collapsed(hidden); err != nil {
		return err
	}
	*text, err = json.Marshal(hidden)
	return err
}

// count returns how many secrets are masked in a JSON value.
func count(v any) (n int) {
	switch v := v.(type) {
	case map[string]any:
		for _, inner := range v {
			n += count(inner)
		}
	case []any:
		for _, inner := range v {
			n += count(inner)
		}
	case string:
		n = strings.Count(v, secret.Placeholder)
	}
	return n
}

// tree returns a JSON value with its texts masked. Each is masked together with its key or its
// neighbours, which may say that it is secret.
func (m *Mask) tree(v any) any {
	text, err := json.Marshal(v)
	if err != nil {
		return secret.Placeholder
	}
	masked := m.masker.Text(string(text))
	if masked == string(text) {
		return v
	}
	if isFlat(v) {
		if hidden, err := parsed([]byte(masked)); err == nil && sameForm(v, hidden) {
			return hidden
		}
	}
	switch v := v.(type) {
	case map[string]any:
		hidden := map[string]any{}
		for key, value := range v {
			if _, isText := value.(string); isText && len(v) > 1 {
				value = m.tree(map[string]any{key: value})
				if one, ok := value.(map[string]any); ok {
					value = one[key]
				}
			} else if isText {
				value = secret.Placeholder
			} else {
				value = m.tree(value)
			}
			hidden[key] = value
		}
		return hidden
	case []any:
		hidden := make([]any, len(v))
		for i := range v {
			hidden[i] = m.tree(v[i])
		}
		return hidden
	case string:
		return secret.Placeholder
	}
	return v
}

// isFlat reports whether a JSON value is a text, or holds nothing but texts.
func isFlat(v any) bool {
	isText := func(v any) bool { _, ok := v.(string); return ok }
	switch v := v.(type) {
	case map[string]any:
		return !slices.ContainsFunc(slices.Collect(maps.Values(v)), func(v any) bool { return !isText(v) })
	case []any:
		return !slices.ContainsFunc(v, func(v any) bool { return !isText(v) })
	}
	return isText(v)
}

// sameForm reports whether two flat JSON values have the same number of texts, by the same keys.
func sameForm(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		other, ok := b.(map[string]any)
		return ok && isFlat(b) && maps.EqualFunc(a, other, func(any, any) bool { return true })
	case []any:
		other, ok := b.([]any)
		return ok && isFlat(b) && len(a) == len(other)
	}
	_, isText := b.(string)
	return isText
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
				if inner, err := parsed([]byte(text)); err == nil && !isFlat(inner) {
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
