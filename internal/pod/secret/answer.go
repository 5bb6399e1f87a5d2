package secret

import (
	"encoding/base64"
	"maps"
	"strings"
	"unicode/utf8"

	v1 "k8s.io/api/core/v1"

	"github.com/podctl/podctl/internal/pod"
)

// Variables returns the values of the environment variables in a pod's spec that hold secrets.
func Variables(p *v1.Pod) (values [][]byte) {
	for c := range pod.Containers(p) {
		isSecret := NamesOf(c)
		for _, e := range c.Env {
			if e.Value != "" && isSecret(e.Name) {
				values = append(values, []byte(e.Value))
			}
		}
	}
	return values
}

// Annotations returns the annotations of a pod, with a placeholder for manifests, which
// may hold secrets.
func Annotations(annotations map[string]string) map[string]string {
	masked := maps.Clone(annotations)
	for key := range masked {
		if isManifest(key) {
			masked[key] = Placeholder
		}
	}
	return masked
}

// isManifest reports whether the values of an annotation are manifests: podctl's, and the
// one of kubectl apply.
func isManifest(annotation string) bool {
	return annotation == pod.ManifestAnnotation || annotation == v1.LastAppliedConfigAnnotation
}

// AnswerAndValues returns a copy of what a runtime answered, as encoding/json reads it, with a
// placeholder for manifests in annotations and for the values of environment variables
// that hold secrets, wherever they stand: arguments are expanded with them. values are those of
// the variables.
func AnswerAndValues(answer any, secret Names) (masked any, values [][]byte) {
	masked = mapTexts("", answer, func(key, text string) string {
		if isManifest(key) {
			return Placeholder
		}
		return text
	}, func(v any) any { hidden, _ := hideVariable(v, secret, &values); return hidden })
	if len(values) == 0 {
		return masked, nil
	}
	mask := (*Mask)(nil).With(values, nil)
	return mapTexts("", masked, func(_, text string) string { return mask.Text(text) }, func(v any) any { return v }), values
}

// mapTexts returns a copy of a tree, with each text, below a key, and each environment
// variable as the functions return it.
func mapTexts(key string, tree any, text func(key, text string) string, variable func(any) any) any {
	switch tree := tree.(type) {
	case map[string]any:
		mapped := make(map[string]any, len(tree))
		for k, v := range tree {
			mapped[k] = mapTexts(k, v, text, variable)
		}
		return mapped
	case []any:
		mapped := make([]any, len(tree))
		for i, v := range tree {
			if strings.EqualFold(key, "env") || strings.EqualFold(key, "envs") {
				v = variable(v)
			}
			mapped[i] = mapTexts("", v, text, variable)
		}
		return mapped
	case string:
		return text(key, tree)
	}
	return tree
}

// hideVariable returns an environment variable, in one of the forms of runtimes:
// NAME=VALUE, or an object with a key, or of manifests, an object with a name. A value that is a
// secret is added to values, nil for none, and replaced.
func hideVariable(v any, secret Names, values *[][]byte) (hidden any, ofRuntime bool) {
	found := func(value string) {
		if values == nil || value == "" {
			return
		}
		*values = append(*values, []byte(value))
		// encoding/json writes bytes so, which values are in the CRI.
		if text, err := base64.StdEncoding.DecodeString(value); err == nil && utf8.Valid(text) {
			*values = append(*values, text)
		}
	}
	switch variable := v.(type) {
	case string:
		name, value, ok := strings.Cut(variable, "=")
		if ok && secret(name) {
			found(value)
			return name + "=" + Placeholder, true
		}
		return v, true
	case map[string]any:
		name, ofRuntime := variable["key"].(string)
		if !ofRuntime {
			name, _ = variable["name"].(string)
		}
		value, ok := variable["value"]
		if ok && secret(name) {
			text, _ := value.(string)
			found(text)
			hidden := maps.Clone(variable)
			hidden["value"] = Placeholder
			return hidden, ofRuntime
		}
		return v, ofRuntime
	}
	return v, false
}
